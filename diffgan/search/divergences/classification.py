"""Divergences of class probabilities: triggers are the images that get two labels, whatever measures the distance.

Every distance is a function of two float64 arrays N x K, and needs no row to sum to one. A model's label is its most
probable class, the lowest of several.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from diffgan.errors import ModelError
from diffgan.search.divergences.protocol import Distance, Divergences, Floats, Outputs, Task, check_finite


@dataclass(frozen=True)
class ClassDivergence:
    """A distance between class probabilities.

    Attributes:
        name: what `--divergence` calls it.
        distance: of two arrays N x K, row by row.
    """

    name: str
    distance: Distance
    task: ClassVar[Task] = "classification"

    def __call__(self, a: Outputs, b: Outputs, expected: Outputs | None = None) -> Divergences:  # noqa: ARG002
        """Compares two batches of probabilities, N x K.

        Raises:
            ModelError: their shapes do not fit, or a value is NaN or infinite.
        """
        if np.ndim(a) != 2 or np.shape(a) != np.shape(b) or np.shape(a)[1] < 2:
            raise ModelError(
                f"The models' outputs have shapes {np.shape(a)} and {np.shape(b)}; expected (N, classes) twice, "
                "with the same number of classes, at least 2: compare two classifiers of the same classes."
            )
        first, second = check_finite(a, "A"), check_finite(b, "B")
        return Divergences(self.distance(first, second), first.argmax(axis=1) != second.argmax(axis=1))


def euclidean(a: Floats, b: Floats) -> Floats:
    """The paper's: the length of the difference, and 1 more where the labels differ. In [0, 1 + √2].

    Example:
        >>> import numpy as np
        >>> euclidean(np.array([[0.8, 0.2]]), np.array([[0.5, 0.5]])).round(4).tolist()
        [0.4243]
    """
    difference = a - b
    length = np.sqrt(np.einsum("nk,nk->n", difference, difference))
    return np.asarray(length + (a.argmax(axis=1) != b.argmax(axis=1)), dtype=np.float64)


def total_variation(a: Floats, b: Floats) -> Floats:
    """The greatest difference in probability that any set of classes gets. In [0, 1]."""
    return np.asarray(np.minimum(np.abs(a - b).sum(axis=1) / 2, 1))


def jensen_shannon(a: Floats, b: Floats) -> Floats:
    """The square root of the Jensen-Shannon divergence to base 2, which is a distance. In [0, 1]."""
    middle = (a + b) / 2
    bits = (_entropy_gap(a, middle) + _entropy_gap(b, middle)) / 2
    return np.asarray(np.sqrt(np.clip(bits, 0, 1)))


def hellinger(a: Floats, b: Floats) -> Floats:
    """The distance of the square roots of the probabilities, divided by √2. In [0, 1]."""
    difference = np.sqrt(np.maximum(a, 0)) - np.sqrt(np.maximum(b, 0))
    return np.asarray(np.minimum(np.sqrt(np.einsum("nk,nk->n", difference, difference) / 2), 1))


def margin(a: Floats, b: Floats) -> Floats:
    """How much of its lead each model's label loses in the other model: the mean of both. In [0, 2].

    A label's lead is its probability less that of the strongest other class. Where both models give one label, this
    is the difference of their top-1 margins.

    Example:
        >>> import numpy as np
        >>> margin(np.array([[0.75, 0.25], [1, 0]]), np.array([[0.5, 0.5], [0, 1]])).tolist()
        [0.5, 2.0]
    """
    label_a, label_b = a.argmax(axis=1), b.argmax(axis=1)
    of_a = np.abs(_leads(a, label_a) - _leads(b, label_a))
    of_b = np.abs(_leads(b, label_b) - _leads(a, label_b))
    return np.asarray((of_a + of_b) / 2)


def _entropy_gap(values: Floats, middle: Floats) -> Floats:
    """The Kullback-Leibler divergence of the values from the middle, in bits; a class of probability 0 adds none."""
    present = values > 0
    ratio = np.divide(values, middle, out=np.ones_like(values), where=present)
    return np.asarray(np.einsum("nk,nk->n", values, np.log2(ratio)))


def _leads(values: Floats, labels: np.ndarray[tuple[int], np.dtype[np.intp]]) -> Floats:
    rows = np.arange(len(values))
    others = values.copy()
    others[rows, labels] = -np.inf
    return np.asarray(values[rows, labels] - others.max(axis=1))
