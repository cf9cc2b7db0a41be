"""Chooses, of more children than the models are shown, those that may be new finds."""

from __future__ import annotations

from statistics import median
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.collapse import beyond_quota
from diffgan.search.mimic import Mimic
from diffgan.search.novelty import Novelty
from diffgan.search.strategies.protocol import State
from diffgan.search.thumbnails import thumbnails

Ints = NDArray[np.int64]

#: The most children made for each one of a whole batch, and as many where queries are what counts.
MOST = 4
#: Images that the mimic has to have learned from before anybody asks it.
WARM = 512
#: The most of those chosen that one cell, as the mimic expects it, may hold, as a part of `cell_share`.
_OF_SHARE = 0.7
#: Pixels along a side of the thumbnails that the mimic sees.
_SIDE = 14
#: Batches whose costs say whether the screen pays, after a first one that is slow for other reasons.
_TIMED = 4
#: Images of a batch whose cost tells what a full one's will be.
TELLING = 512
#: What a child loses whose cell has enough, one that looks like a find, and one that nobody would recognise; a mimic's
#: answer is below 1.
_CROWDED, _SEEN, _UNRECOGNISABLE = 1.0, 2.0, 4.0


@runtime_checkable
class Glances(Protocol):
    """A recogniser that has a quick first look."""

    def __call__(self, images: ByteImages) -> NDArray[np.bool_]:
        """Which images look valid."""
        ...

    def glance(self, images: ByteImages) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        """Which images may look valid, and features of each (N x D)."""
        ...


class Screen:
    """Looks at children before the models do.

    Args:
        recogniser: has the first look.
        novelty: remembers the finds.
        times: children made for each one shown; None: what children and models cost decides.
        cell_share: the most of the matings that one cell has; 1: all.
    """

    def __init__(self, recogniser: Glances, novelty: Novelty, times: int | None, *, cell_share: float) -> None:
        self._recogniser, self._novelty = recogniser, novelty
        self._mimic = Mimic()
        self._times, self._cell_share = times, cell_share
        self._costs: list[tuple[float, float]] = []
        self._shown = np.empty((0, 0), dtype=np.float32)

    @property
    def times(self) -> int:
        """Children made for each one of a whole batch: the most of all until it is decided."""
        return self._times or MOST

    @property
    def asks(self) -> bool:
        """Whether there is anything left to do for it."""
        return self._times != 1

    def cost(self, making: float, models: float) -> None:
        """What the latest batch cost; some of them settle how many children are made for each one shown.

        What is found grows with about the root of that number; so it pays until making them costs what the models do.

        Args:
            making: seconds that making a child and looking at it took.
            models: seconds that both models took for it.
        """
        if self._times is not None:
            return
        self._costs.append((making, models))
        if len(self._costs) > _TIMED:
            makings, answers = zip(*self._costs[1:], strict=True)
            self._times = int(np.clip(round(median(answers) / max(median(makings), 1e-9)), 1, MOST))

    def chosen(self, images: ByteImages, count: int) -> Ints:
        """The rows, in order, of so many: recognisable, unlike all finds and one another, likely to trigger, and of no
        cell beyond its share, as far as there are others."""
        may, features = self._recogniser.glance(images)
        small = thumbnails(images)
        seen = thumbnails(images, _SIDE).reshape(len(images), -1)
        looks = np.concatenate([features, seen / np.float32(128) - 1], axis=1)
        rows = np.arange(len(images))
        if count < len(images):
            merit = np.where(may, 0.0, -_UNRECOGNISABLE)
            if self._mimic.seen >= WARM:
                probable, cells = self._mimic.predict(looks)
                merit += probable
                promising = np.flatnonzero(may)
                promising = promising[np.argsort(-probable[promising], kind="stable")]
                merit[promising[~self._novelty.distinct(small[promising], cells[promising])]] -= _SEEN
                self._spread(merit, cells, count)
            rows = np.sort(np.argsort(-merit, kind="stable")[:count])
        self._shown = looks[rows]
        return rows

    def _spread(self, merit: NDArray[np.float64], cells: Ints, count: int) -> None:
        """Takes from the merit of those who would have more of so many for a cell than its share."""
        if self._cell_share == 1:
            return
        quota = max(1, round(_OF_SHARE * self._cell_share * count))
        order = np.argsort(-merit, kind="stable")
        order = order[merit[order] > 0]
        merit[order[beyond_quota(cells[order], quota)]] -= _CROWDED

    def learn(self, outputs_a: NDArray[np.float32], outputs_b: NDArray[np.float32]) -> None:
        """What the models said of those that were chosen last."""
        self._mimic.learn(self._shown, outputs_a.argmax(axis=1), outputs_b.argmax(axis=1), outputs_a.shape[1])

    def state(self) -> State:
        """What it has learned, and what was decided."""
        if not self.asks:
            return {"times": np.array([1])}
        return {"times": np.array([self._times or 0]), **self._mimic.state()}

    def restore(self, state: State) -> None:
        """Goes on where `state` was taken."""
        if self._times is None:
            self._times = int(state["times"][0]) or None
        if self.asks and len(state) > 1:  # by another budget, there may have been nothing to learn for
            self._mimic.restore(state)
