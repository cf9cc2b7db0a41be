"""From diffgan's images to what a model takes: layout, range, mean and standard deviation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError
from diffgan.images import FloatImages, ImageSpec
from diffgan.models.options import Layout, ModelOptions

#: What a model sees has to have so many tones at least, and such a part of the range has to be within its numbers.
FEWEST_TONES, LEAST_SEEN = 8, 0.5


@dataclass(frozen=True)
class WholeNumbers:
    """What the whole numbers of a model's input stand for.

    Attributes:
        low: the least of them.
        high: the greatest.
        step: from one to the next.
    """

    low: float
    high: float
    step: float = 1.0

    @classmethod
    def of(cls, dtype: np.dtype[Any], *, scale: float = 1.0, zero_point: int = 0) -> WholeNumbers:
        """Those of a type; quantised ones stand for others."""
        limits = np.iinfo(dtype)
        return cls((limits.min - zero_point) * scale, (limits.max - zero_point) * scale, scale)


def prepare(images: FloatImages, options: ModelOptions, layout: Layout) -> NDArray[np.float32]:
    """Scales to the model's range, normalises per channel, and puts the channels where the model wants them."""
    low, high = options.range
    prepared = images
    if (low, high) != (0.0, 1.0):
        prepared = prepared * np.float32(high - low) + np.float32(low)
    if options.mean is not None:
        prepared = prepared - _per_channel(options.mean)
    if options.std is not None:
        prepared = prepared / _per_channel(options.std)
    if layout == "NHWC":
        prepared = prepared.transpose(0, 2, 3, 1)
    return np.ascontiguousarray(prepared)


def lost_in_rounding(kind: str, options: ModelOptions, numbers: WholeNumbers) -> str | None:
    """What to tell of a model that takes whole numbers, where with these options it would see hardly anything; or None.

    Args:
        kind: of its numbers.
        options: its range, mean and std.
        numbers: what they stand for.
    """
    low, high = sorted(options.range)
    shift, scale = max(options.mean or (0.0,)), max(options.std or (1.0,))
    low, high = (low - shift) / scale, (high - shift) / scale
    seen = min(high, numbers.high) - max(low, numbers.low)
    tones = max(0, int(seen / numbers.step)) + 1
    if tones >= FEWEST_TONES and seen >= LEAST_SEEN * (high - low):
        return None
    normalised = " after mean and std" if options.mean or options.std else ""
    lost = f"of which rounding leaves {tones} tones" if tones < FEWEST_TONES else "most of which lies beyond"
    wide = numbers.high - numbers.low > 256 * numbers.step
    advised = (0.0, 255 * numbers.step) if wide else (numbers.low, numbers.high)
    return (
        f"takes whole numbers ({kind}) for {numbers.low:.4g} to {numbers.high:.4g}, but is given {low:.4g} to "
        f"{high:.4g}{normalised}, {lost}: say range=[{advised[0]:.4g}, {advised[1]:.4g}]"
        + (" without mean and std" if normalised else "")
    )


def check_whole_numbers(name: str, kind: str, options: ModelOptions, numbers: WholeNumbers) -> None:
    """Refuses options under which a model that takes whole numbers would see hardly anything; see `lost_in_rounding`.

    Raises:
        ModelError: it would.
    """
    fault = lost_in_rounding(kind, options, numbers)
    if fault is not None:
        raise ModelError(f"{name} {fault}.")


def check_normalisation(name: str, options: ModelOptions, spec: ImageSpec) -> None:
    """Refuses a mean or std with another number of channels than the images.

    Raises:
        ModelError: it has.
    """
    for key in ("mean", "std"):
        values = getattr(options, key)
        if values is not None and len(values) not in (1, spec.channels):
            raise ModelError(
                f"{name}: {key} has {len(values)} values, but the images have {spec.channels} channel(s): "
                f"give {spec.channels}, or one for all."
            )


def check_input_shape(name: str, declared: tuple[int | None, ...] | None, layout: Layout, spec: ImageSpec) -> None:
    """Refuses images that a model's declared input cannot take.

    Raises:
        ModelError: it cannot take them.
    """
    if declared is None:
        return
    channels, height, width = spec.shape
    given = (channels, height, width) if layout == "NCHW" else (height, width, channels)
    fits = len(declared) == 4 and all(
        want is None or want == have for want, have in zip(declared[1:], given, strict=True)
    )
    if fits:
        return
    wanted = "×".join("any" if size is None else str(size) for size in declared[1:])
    axes = "×".join(layout[1:])
    raise ModelError(
        f"{name} takes images of {wanted}, but was given {'×'.join(map(str, given))} ({axes}): "
        "use data of that size, or say the model's layout (layout=NHWC or NCHW)."
    )


def declared_spec(declared: tuple[int | None, ...] | None, layout: Layout) -> ImageSpec | None:
    """The image size that a model declares, if it is complete."""
    if declared is None or len(declared) != 4 or None in declared[1:]:
        return None
    first, second, third = (int(size) for size in declared[1:] if size is not None)
    return ImageSpec(first, second, third) if layout == "NCHW" else ImageSpec(third, first, second)


def _per_channel(values: tuple[float, ...]) -> NDArray[np.float32]:
    return np.asarray(values, dtype=np.float32).reshape(1, -1, 1, 1)
