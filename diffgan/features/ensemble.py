"""Several models asked as one: their mean probability, and the first one's features."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError, UsageError
from diffgan.images import ByteImages, FloatImages, to_floats

Float32s = NDArray[np.float32]


class JudgeModel(Protocol):
    """What a judge asks of each of its models; `diffgan.models.Classifier` is one."""

    @property
    def name(self) -> str:
        """What errors and labels call it."""
        ...

    def predict(self, images: FloatImages) -> Float32s:
        """Probabilities (N, K) for images (N x C x H x W, [0, 1])."""
        ...


@runtime_checkable
class FeatureModel(JudgeModel, Protocol):
    """A model that shows its features, too; the first of a judge's models has to."""

    def predict_with_features(self, images: FloatImages) -> tuple[Float32s, Float32s]:
        """Probabilities (N, K) and features (N, …)."""
        ...


def check_models(models: Sequence[JudgeModel], *, features: bool) -> None:
    """Makes certain that there is a model, and that the first can show features if they are wanted.

    Raises:
        UsageError: there is no model.
        ModelError: the first model has no features.
    """
    if not models:
        raise UsageError("A judge needs at least one model, but none was given: name one.")
    if features and not isinstance(models[0], FeatureModel):
        raise ModelError(
            f"{models[0].name}, the judge's first model, has no features (no predict_with_features): "
            "put a model that has them first, or judge without features."
        )


def ask_all(
    models: Sequence[JudgeModel], images: ByteImages, *, features: bool, batch: int
) -> tuple[Float32s, Float32s]:
    """The mean probability of all models (N, K), and the first one's features (N, D), D being 0 without features.

    Args:
        models: checked by `check_models`.
        images: uint8, N x H x W x C, at least one; turned to floats one batch at a time.
        features: whether to ask the first model for its features.
        batch: how many images are in memory as floats at a time.

    Raises:
        ModelError: a model answers with a wrong shape or NaN, or two differ in their number of classes.
    """
    starts = range(0, len(images), batch)
    parts = [_ask(models, to_floats(images[start : start + batch]), features) for start in starts]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


def _ask(models: Sequence[JudgeModel], images: FloatImages, features: bool) -> tuple[Float32s, Float32s]:
    first = models[0]
    seen = np.empty((len(images), 0), dtype=np.float32)
    if features and isinstance(first, FeatureModel):
        answer, shown = first.predict_with_features(images)
        seen = _checked_features(shown, len(images), first.name)
    else:
        answer = first.predict(images)
    total = _checked(answer, len(images), first.name).copy()
    for model in models[1:]:
        other = _checked(model.predict(images), len(images), model.name)
        if other.shape != total.shape:
            raise ModelError(
                f"The judge's models differ in their number of classes: {first.name} has {total.shape[1]}, "
                f"{model.name} has {other.shape[1]}. Give models of the same classes."
            )
        total += other
    return total / np.float32(len(models)), seen


def _checked(answer: Any, count: int, name: str) -> Float32s:
    values = np.asarray(answer, dtype=np.float32)
    if values.ndim != 2 or len(values) != count or values.shape[1] < 1:
        raise ModelError(f"The judge's model {name} answered with shape {values.shape}; expected ({count}, classes).")
    if not np.isfinite(values).all():
        raise ModelError(f"The judge's model {name} answered with NaN or infinity: mend the model or its options.")
    return values


def _checked_features(shown: Any, count: int, name: str) -> Float32s:
    values = np.asarray(shown, dtype=np.float32)
    if values.ndim < 2 or len(values) != count or values.size == 0:
        raise ModelError(f"The judge's model {name} gave features of shape {values.shape}; expected ({count}, size).")
    if not np.isfinite(values).all():
        raise ModelError(f"The judge's model {name} gave features that are NaN or infinite: mend the model.")
    return values.reshape(count, -1)
