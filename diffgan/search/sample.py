"""A uniform sample of a growing row of images, of bounded size, that follows from the seed and the row alone."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages

Positions = NDArray[np.int64]
Priorities = NDArray[np.uint64]


class Sample:
    """The images with the least priorities of all seen so far; a priority is a hash of seed and position in the row.

    So every image is as likely to be in it as any other, and which ones are can be worked out at any time.

    Args:
        seed: of the priorities.
        most: how many images are kept; None keeps all.
    """

    def __init__(self, seed: int, most: int | None) -> None:
        self._seed = seed
        self._most = most
        self.seen = 0
        self._positions: Positions = np.empty(0, dtype=np.int64)
        self._priorities: Priorities = np.empty(0, dtype=np.uint64)
        self._parts: list[ByteImages] = []
        #: Places, in the three above, of the sample; the others have lost their place, and are dropped now and then.
        self._chosen: NDArray[np.intp] = np.empty(0, dtype=np.intp)

    @property
    def positions(self) -> Positions:
        """Where in the row the images of the sample stand, in order."""
        return np.sort(self._positions[self._chosen])

    def images(self) -> ByteImages:
        """The images of the sample, in the order of the row."""
        self._keep(self._chosen)
        return np.ascontiguousarray(self._merged()[np.argsort(self._positions)])

    def add(self, images: ByteImages) -> None:
        """The next images of the row."""
        positions = np.arange(self.seen, self.seen + len(images), dtype=np.int64)
        self.seen += len(images)
        priorities = priorities_of(positions, self._seed)
        if self._most is not None and len(self._chosen) == self._most:
            better = priorities < self._priorities[self._chosen].max()
            images, positions, priorities = images[better], positions[better], priorities[better]
        if not len(images):
            return
        self._parts.append(images.copy())
        self._positions = np.concatenate([self._positions, positions])
        self._priorities = np.concatenate([self._priorities, priorities])
        self._chosen = np.arange(len(self._positions))
        if self._most is not None and len(self._positions) > self._most:
            self._chosen = np.argpartition(self._priorities, self._most - 1)[: self._most]
            if len(self._positions) > 2 * self._most:
                self._keep(self._chosen)

    def restore(self, seen: int, positions: Positions, images: ByteImages) -> None:
        """Puts back what `seen`, `positions` and `images` gave."""
        self.seen = seen
        self._positions = positions.astype(np.int64)
        self._priorities = priorities_of(self._positions, self._seed)
        self._parts = [images.copy()] if len(images) else []
        self._chosen = np.arange(len(positions))

    def _keep(self, places: NDArray[np.intp]) -> None:
        self._parts = [self._merged()[places]]
        self._positions, self._priorities = self._positions[places], self._priorities[places]
        self._chosen = np.arange(len(places))

    def _merged(self) -> ByteImages:
        if not self._parts:
            return np.empty((0, 0, 0, 0), dtype=np.uint8)
        if len(self._parts) > 1:
            self._parts = [np.concatenate(self._parts)]
        return self._parts[0]


def priorities_of(positions: Positions, seed: int) -> Priorities:
    """A number for each position, drawn uniformly as far as anybody can tell (the mixing function of SplitMix64)."""
    start = np.random.SeedSequence(seed).generate_state(1, np.uint64)
    mixed = start + (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
