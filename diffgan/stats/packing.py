"""Greedy packing in order of discovery: what counts as new, over one or several spaces at once.

A candidate counts if, from *every* one counted before, it is farther than the threshold in *every* space. It is
enough to be near to one of them, in one space, to count no more; the nearer ones may differ from space to space. Near
means a distance equal to the threshold, or less. A candidate that did not count blocks nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError, UsageError
from diffgan.stats.distances import (
    Float32s,
    Vectors,
    as_rows,
    blocks,
    check_same_size,
    cosines_to_distances,
    directions,
)

_CHUNK = 8192
_FIRST_CAPACITY = 256


@dataclass(frozen=True, eq=False)
class Space:
    """One way to see the candidates: N vectors, and the cosine distance that one must exceed to count."""

    vectors: Vectors
    threshold: float

    def take(self, positions: NDArray[np.int64]) -> Space:
        """The same space with these candidates only."""
        return Space(self.vectors[positions], self.threshold)


class Packing:
    """A packing that grows: feed it candidates in order of discovery, and it says which of them count.

    How the candidates are split into calls makes no difference. What is held are the counted ones, as float32.

    Args:
        thresholds: one distance for each space, in the order in which `add` gets the spaces.

    Raises:
        UsageError: there is no threshold, or one is negative or NaN.

    Example:
        >>> import numpy as np
        >>> packing = Packing([0.5])
        >>> packing.add([np.array([[1, 0], [2, 0], [0, 1]])]).tolist()
        [True, False, True]
        >>> packing.add([np.array([[1, 9]])]).tolist()
        [False]
        >>> len(packing)
        2
    """

    def __init__(self, thresholds: Sequence[float]) -> None:
        if len(thresholds) == 0:
            raise UsageError("A packing needs at least one space, but no threshold was given.")
        self._layers = [_Layer(threshold) for threshold in thresholds]

    def __len__(self) -> int:
        return self._layers[0].count

    def add(self, spaces: Sequence[Vectors]) -> NDArray[np.bool_]:
        """Which of these candidates count, in their order.

        Args:
            spaces: for each threshold, the candidates' vectors (N x anything).

        Raises:
            DataError: the spaces do not fit the thresholds, one another or those of earlier calls.
        """
        if len(spaces) != len(self._layers):
            raise DataError(f"{len(spaces)} spaces came for {len(self._layers)} thresholds: give one for each.")
        counts = {len(space) for space in spaces}
        if len(counts) > 1:
            raise DataError(f"The spaces hold {sorted(counts)} candidates: give the same ones in each space.")
        sizes = [as_rows(space).shape[1] for space in spaces]
        accepted = np.zeros(counts.pop(), dtype=np.bool_)
        for rows in blocks(len(accepted), max(sizes)):
            accepted[rows] = self._add_block([space[rows] for space in spaces])
        return accepted

    def _add_block(self, spaces: list[Vectors]) -> NDArray[np.bool_]:
        left = np.arange(len(spaces[0]))
        seen: list[tuple[_Layer, Float32s]] = []
        # The smallest space first: it is the cheapest, and what it rules out need not be multiplied in the others.
        for place in sorted(range(len(spaces)), key=lambda place: as_rows(spaces[place]).shape[1]):
            unit = directions(spaces[place][left])
            far = self._layers[place].far(unit)
            left = left[far]
            seen = [(layer, earlier[far]) for layer, earlier in [*seen, (self._layers[place], unit)]]
        chosen = _first_come(seen)
        for layer, unit in seen:
            layer.extend(unit[chosen])
        accepted = np.zeros(len(spaces[0]), dtype=np.bool_)
        accepted[left[chosen]] = True
        return accepted


def greedy_packing(spaces: Sequence[Space]) -> NDArray[np.int64]:
    """The positions of the candidates that count, in order of discovery.

    Args:
        spaces: the same N candidates, in order of discovery, seen in each space.

    Raises:
        UsageError: there is no space, or a threshold is negative or NaN.
        DataError: the spaces do not hold equally many candidates, or a value is NaN or infinite.

    Example:
        >>> import numpy as np
        >>> pixels = Space(np.array([[1, 0], [0, 1], [1, 1]]), 0.1)
        >>> features = Space(np.array([[1, 0], [1, 0], [0, 1]]), 0.1)
        >>> greedy_packing([pixels]).tolist(), greedy_packing([pixels, features]).tolist()
        ([0, 1, 2], [0, 2])
    """
    packing = Packing([space.threshold for space in spaces])
    return np.flatnonzero(packing.add([space.vectors for space in spaces])).astype(np.int64)


class _Layer:
    """The counted ones in one space, in an array that doubles as it fills."""

    def __init__(self, threshold: float) -> None:
        if not threshold >= 0:
            raise UsageError(f"A packing's threshold is {threshold}; expected a cosine distance from 0 to 2.")
        self.threshold = float(threshold)
        self.count = 0
        self._store: Float32s | None = None

    def far(self, unit: Float32s) -> NDArray[np.bool_]:
        """Which of these are farther than the threshold from all that counted before."""
        if self._store is None:
            return np.ones(len(unit), dtype=np.bool_)
        check_same_size(self._store.shape[1] - 1, unit.shape[1] - 1)
        closest = np.full(len(unit), -2, dtype=np.float32)
        for start in range(0, self.count, _CHUNK):
            cosines = unit @ self._store[start : min(start + _CHUNK, self.count)].T
            np.maximum(closest, cosines.max(axis=1), out=closest)
        far: NDArray[np.bool_] = cosines_to_distances(closest) > self.threshold
        return far

    def extend(self, unit: Float32s) -> None:
        needed = self.count + len(unit)
        if self._store is None or needed > len(self._store):
            grown = np.empty((max(_FIRST_CAPACITY, 2 * needed), unit.shape[1]), dtype=np.float32)
            if self._store is not None:
                grown[: self.count] = self._store[: self.count]
            self._store = grown
        self._store[self.count : needed] = unit
        self.count = needed


def _first_come(block: list[tuple[_Layer, Float32s]]) -> NDArray[np.bool_]:
    """Which of these count among themselves, each being far from all that counted before."""
    count = len(block[0][1])
    near = np.zeros((count, count), dtype=np.bool_)
    for layer, unit in block:
        near |= cosines_to_distances(unit @ unit.T) <= layer.threshold
    chosen = np.ones(count, dtype=np.bool_)
    for position in range(count):
        if chosen[position]:
            chosen[position + 1 :] &= ~near[position, position + 1 :]
    return chosen
