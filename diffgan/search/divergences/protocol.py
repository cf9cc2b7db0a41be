"""What a divergence is, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError, UsageError

Task = Literal["classification", "regression", "segmentation"]
Outputs = NDArray[Any]
Floats = NDArray[np.float64]
Distance = Callable[[Floats, Floats], Floats]


@dataclass(frozen=True)
class Divergences:
    """What a batch came to.

    Attributes:
        amount: how far the two models are apart on each of N images; a search maximises it.
        triggers: whether they disagree on it.
    """

    amount: Floats
    triggers: NDArray[np.bool_]


class Divergence(Protocol):
    """Says how far apart two models are on each image, and whether they disagree on it."""

    @property
    def name(self) -> str:
        """What `--divergence` calls it."""
        ...

    @property
    def task(self) -> Task:
        """The task of the models whose outputs it takes."""
        ...

    def __call__(self, a: Outputs, b: Outputs, expected: Outputs | None = None) -> Divergences:
        """Compares a batch.

        Args:
            a: the first model's outputs, one row for each image.
            b: the second's, of the same shape.
            expected: the class that each image was made for, where there is one; it may guide, and is no label.
        """
        ...


def check_threshold(threshold: float) -> float:
    """The threshold, once it is certain to be a number and not negative.

    Raises:
        UsageError: it is not.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, int | float) or not 0 <= threshold < np.inf:
        raise UsageError(f"A divergence's threshold is {threshold!r}; expected a number, 0 or more.")
    return float(threshold)


def check_finite(outputs: Outputs, model: str) -> Floats:
    """The outputs in float64, once they are certain to be numbers.

    Raises:
        ModelError: one is NaN or infinite.
    """
    values = np.asarray(outputs, dtype=np.float64)
    broken = values.size - np.count_nonzero(np.isfinite(values))
    if broken:
        raise ModelError(
            f"Model {model} gave {broken} outputs that are NaN or infinite; expected numbers: look into the model."
        )
    return values
