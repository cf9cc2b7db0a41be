"""DRFuzz's fidelity: a mutant passes that looks as real to a discriminator as the image that it comes from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import GeneratorError
from diffgan.images import ByteImages
from diffgan.search.strategies.protocol import Realness, State


class Gate:
    """Compares scores with those of the real images, which it asks for once.

    Args:
        discriminator: gives the scores.
        images: the real ones.
        labels: theirs; a discriminator that knows classes judges a mutant as one of its source's class.
    """

    def __init__(self, discriminator: Realness, images: ByteImages, labels: NDArray[np.int64]) -> None:
        self._discriminator, self._images, self._labels = discriminator, images, labels
        #: Of the real images; NaN where it was not asked yet. Kept, since scores depend a little on the batch.
        self._scores = np.full(len(images), np.nan)
        self._tried, self._passed = 0, 0

    @property
    def share(self) -> float:
        """Of all mutants, those that passed."""
        return self._passed / max(1, self._tried)

    def margins(self, mutants: ByteImages, roots: NDArray[np.int64]) -> NDArray[np.float64]:
        """How much more real each looks than the real image that it comes from; from 0 on, it passes."""
        unknown = np.unique(roots[np.isnan(self._scores[roots])])
        scores = self._scored(
            np.concatenate([self._images[unknown], mutants]), self._labels[np.concatenate([unknown, roots])]
        )
        self._scores[unknown] = scores[: len(unknown)]
        margins = scores[len(unknown) :] - self._scores[roots]
        self._tried += len(margins)
        self._passed += int((margins >= 0).sum())
        return np.asarray(margins)

    def state(self) -> State:
        """The scores of the real images, and the counts."""
        return {"gate/scores": self._scores.copy(), "gate/counts": np.array([self._tried, self._passed])}

    def restore(self, state: State) -> None:
        """Goes on from there."""
        self._scores = state["gate/scores"].copy()
        self._tried, self._passed = state["gate/counts"].tolist()

    def _scored(self, images: ByteImages, classes: NDArray[np.int64]) -> NDArray[np.float64]:
        scores = np.asarray(self._discriminator.score(images, classes), dtype=np.float64)
        if scores.shape != (len(images),) or not np.isfinite(scores).all():
            raise GeneratorError(
                f"The discriminator gave scores of shape {scores.shape} for {len(images)} images, or some that are not "
                f"finite; expected ({len(images)},): mend it, or take the strategy drfuzz-free."
            )
        return scores
