"""What a filter is: it scores triggers, and a threshold says which of them pass."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages

Scores = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Candidates:
    """N triggers, as filters see them.

    Attributes:
        ids: of the triggers.
        images: uint8, N x H x W x C.
        classes: the class that the generator was asked for, -1 where there was none; None: no trigger has one.
        divergence: how far the models are apart.
    """

    ids: NDArray[np.int64]
    images: ByteImages
    classes: NDArray[np.int64] | None
    divergence: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)


class Filter(Protocol):
    """Says of triggers whether they are valid. Its scores are stored, so that another threshold applies at once."""

    @property
    def name(self) -> str:
        """Of its verdicts in the archive: letters, digits and dashes."""
        ...

    @property
    def threshold(self) -> float:
        """Triggers with a score of at least this pass."""
        ...

    @property
    def identity(self) -> str:
        """What the scores depend on, besides the image: where it changes, scores are made anew."""
        ...

    def scores(self, candidates: Candidates) -> Scores:
        """One number for each trigger; higher is better, NaN where the filter cannot say (it passes, then)."""
        ...

    def reason(self, score: float) -> str:
        """In words, why a trigger with this score does not pass."""
        ...
