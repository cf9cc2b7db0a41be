"""The gate's divergence: rewards images on which the first model is right and the second is wrong."""

from __future__ import annotations

from typing import ClassVar

import numpy as np

from diffgan.search.divergences.classification import ClassDivergence, euclidean
from diffgan.search.divergences.protocol import Divergences, Floats, Outputs, Task


class Worsening:
    """How much worse the second model is than the first on the class that an image was made for.

    A class leads by its probability less that of the strongest other one. What counts is the lead that the expected
    class has in the first model less the one that it has in the second, and 1 more where the first model gives that
    class and the second another one: in [-2, 3]. Without expected classes, the first model's label stands in.
    """

    name = "worsening"
    task: ClassVar[Task] = "classification"

    def __call__(self, a: Outputs, b: Outputs, expected: Outputs | None = None) -> Divergences:
        """Compares two batches of probabilities, N x K.

        Raises:
            ModelError: their shapes do not fit, or a value is NaN or infinite.

        Example:
            >>> a, b = np.array([[0.75, 0.25]] * 2), np.array([[0.25, 0.75]] * 2)
            >>> Worsening()(a, b, expected=np.array([0, 1])).amount.tolist()
            [2.0, -1.0]
        """
        plain = _PLAIN(a, b)
        first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
        label_a, label_b = first.argmax(axis=1), second.argmax(axis=1)
        wanted = label_a if expected is None else np.asarray(expected, dtype=np.int64)
        worse = (label_a == wanted) & (label_b != wanted)
        return Divergences(_leads(first, wanted) - _leads(second, wanted) + worse, plain.triggers)


_PLAIN = ClassDivergence("euclidean", euclidean)


def _leads(values: Floats, classes: np.ndarray[tuple[int], np.dtype[np.int64]]) -> Floats:
    rows = np.arange(len(values))
    others = values.copy()
    others[rows, classes] = -np.inf
    return np.asarray(values[rows, classes] - others.max(axis=1))
