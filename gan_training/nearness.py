"""How near samples come to the real images, beside how near those are to one another: a check for copies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.gan_training.score_results import Nearness
from diffgan.stats import cosine_distances, nearest_distances

Vectors = NDArray[Any]

_BLOCK_VALUES = 1 << 24


class Among:
    """Real images with their distances to one another, to compare any number of samples with.

    Args:
        real: at least two, N x anything: pixels or features.
    """

    def __init__(self, real: Vectors) -> None:
        self._real = real
        distances = nearest_distances(real)
        self._median, self._close = float(np.median(distances)), float(np.quantile(distances, 0.01))

    def nearness(self, samples: Vectors) -> Nearness:
        """Of samples (M x anything)."""
        distances = nearest_to(samples, self._real)
        return Nearness(
            samples=float(np.median(distances)),
            real=self._median,
            closer=float(np.mean(distances <= self._close)),
        )


def nearest_to(vectors: Vectors, others: Vectors) -> NDArray[np.float32]:
    """The cosine distance of each vector to the nearest of the others."""
    nearest = np.empty(len(vectors), dtype=np.float32)
    step = max(1, _BLOCK_VALUES // max(len(others), 1))
    for start in range(0, len(vectors), step):
        rows = slice(start, start + step)
        nearest[rows] = cosine_distances(vectors[rows], others).min(axis=1)
    return nearest
