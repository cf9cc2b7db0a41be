"""Divergences of numbers: models disagree where they are farther apart than a threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from diffgan.errors import ModelError
from diffgan.search.divergences.protocol import (
    Distance,
    Divergences,
    Floats,
    Outputs,
    Task,
    check_finite,
    check_threshold,
)


@dataclass(frozen=True)
class NumberDivergence:
    """A distance between numbers; of models with several outputs, the greatest over them counts.

    Attributes:
        name: what `--divergence` calls it.
        distance: of two arrays, value by value.
        threshold: an image triggers where the distance exceeds this.
    """

    name: str
    distance: Distance
    threshold: float
    task: ClassVar[Task] = "regression"

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def __call__(self, a: Outputs, b: Outputs, expected: Outputs | None = None) -> Divergences:  # noqa: ARG002
        """Compares two batches of numbers: N, or N x anything.

        Raises:
            ModelError: their shapes do not fit, or a value is NaN or infinite.
        """
        if np.ndim(a) < 1 or np.shape(a) != np.shape(b) or 0 in np.shape(a)[1:]:
            raise ModelError(
                f"The models' outputs have shapes {np.shape(a)} and {np.shape(b)}; expected (N, …) twice, the same: "
                "compare two models of the same numbers."
            )
        distance = self.distance(check_finite(a, "A"), check_finite(b, "B"))
        amount = np.asarray(distance.reshape(len(distance), int(np.prod(distance.shape[1:]))).max(axis=1))
        return Divergences(amount, amount > self.threshold)


def absolute(a: Floats, b: Floats) -> Floats:
    """The difference without its sign."""
    return np.asarray(np.abs(a - b))


def relative(a: Floats, b: Floats) -> Floats:
    """The difference as a share of the greater of both magnitudes, 0 where both are 0. In [0, 2].

    Example:
        >>> import numpy as np
        >>> relative(np.array([2.0, 0.0]), np.array([1.0, 0.0])).tolist()
        [0.5, 0.0]
    """
    scale = np.maximum(np.abs(a), np.abs(b))
    return np.divide(np.abs(a - b), scale, out=np.zeros_like(scale), where=scale > 0)
