"""A brood and what the models said of it, on its way to become individuals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.divergence import Divergences
from diffgan.search.strategies.breeding import Brood
from diffgan.search.strategies.population import Population, fingerprints


@dataclass(frozen=True, eq=False)
class Told:
    """What the models said of a brood.

    Attributes:
        brood: N individuals.
        divergences: of their images.
        cells: a number for the pair of labels of each trigger, else `NO_CELL` (N,).
        numbers: the evaluation of each (N,).
        known: whether the archive had the image already, or would not take it (N,).
    """

    brood: Brood
    divergences: Divergences
    cells: NDArray[np.int64]
    numbers: NDArray[np.int64]
    known: NDArray[np.bool_]

    def population(
        self, rows: NDArray[np.int64], images: ByteImages, scores: Callable[[ByteImages], NDArray[np.float64]]
    ) -> Population:
        """Those rows, whose images are given, with their diversities."""
        return Population(
            points=self.brood.points[rows],
            classes=self.brood.classes[rows],
            divergence=self.divergences.amount[rows],
            diversity=scores(images),
            cell=self.cells[rows],
            evaluation=self.numbers[rows],
            matings=np.zeros(len(rows), dtype=np.int64),
            fingerprint=fingerprints(images),
            known=self.known[rows],
        )
