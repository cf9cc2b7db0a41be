"""What can be said of an image without knowing what it shows: how bright, how sharp, how heavy its strokes are."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages

Floats = NDArray[np.float64]


def traits_of(images: ByteImages) -> dict[str, Floats]:
    """One number an image and trait; stroke weight for grey images, sharpness for colour ones.

    Example:
        >>> sorted(traits_of(np.zeros((1, 8, 8, 1), dtype=np.uint8)))
        ['brightness', 'stroke weight']
    """
    found = {"brightness": images.reshape(len(images), -1).mean(axis=1) / 255}
    if images.shape[3] == 1:
        return {**found, "stroke weight": np.array([stroke_weight(image[..., 0]) for image in images], dtype=float)}
    return {**found, "sharpness": sharpness(images)}


def stroke_weight(image: NDArray[np.uint8]) -> float:
    """About how many pixels wide the strokes are; 0 where there is nothing.

    Across a stroke of width w, the mean distance to its edge is about w / 4.
    """
    from scipy.ndimage import distance_transform_edt

    levels = image.astype(np.float64)
    edge = np.concatenate([levels[0], levels[-1], levels[:, 0], levels[:, -1]])
    if edge.mean() > 127.5:
        levels = 255 - levels
    if levels.max() <= 0:
        return 0.0
    ink = np.pad(levels > levels.max() / 2, 1)
    return float(4 * (distance_transform_edt(ink)[ink] - 0.5).clip(min=0.25).mean())


def sharpness(images: ByteImages) -> Floats:
    """The variance of the Laplacian of the grey image."""
    grey = images.astype(np.float32).mean(axis=3) / 255
    if min(grey.shape[1:]) < 3:
        return np.zeros(len(images))
    inner = grey[:, 1:-1, 1:-1]
    around = grey[:, :-2, 1:-1] + grey[:, 2:, 1:-1] + grey[:, 1:-1, :-2] + grey[:, 1:-1, 2:]
    return np.asarray((around - 4 * inner).reshape(len(images), -1).var(axis=1), dtype=np.float64)


def beside_real(values: Floats, real: Floats) -> str:
    """Where the median stands among real images, in words; empty where it is not remarkable.

    Example:
        >>> beside_real(np.array([9.0]), np.arange(10.0))
        'above 90 % of the real images'
    """
    if not len(values) or not len(real):
        return ""
    middle = float(np.median(values))
    below, above = float((real < middle).mean()), float((real > middle).mean())
    if below >= 0.75:
        return f"above {_most(below)} the real images"
    if above >= 0.75:
        return f"below {_most(above)} the real images"
    return "as in the real images"


def _most(share: float) -> str:
    """Rounded down, so that only all are all."""
    return "all" if share == 1 else f"{math.floor(100 * share)} % of"
