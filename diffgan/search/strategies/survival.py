"""Who lives and who breeds: non-dominated ranks, crowding, and the binary tournament, for two maximised objectives.

The definitions are NSGA-II's and the results pymoo's; with two objectives ranking is a sort, O(N log N).
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

Objectives = NDArray[np.float64]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def front_ranks(objectives: Objectives) -> Ints:
    """The front of each row of (N, 2), 0 the best; equal rows share a front.

    Example:
        >>> front_ranks(np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.0], [1.0, 0.0]])).tolist()
        [0, 0, 1, 0]
    """
    order = np.lexsort((-objectives[:, 1], -objectives[:, 0]))
    # From the greatest first objective down, a front is known by its last second objective: it dominates whatever
    # comes later and has no more of the second. These last values fall from front to front, so one can bisect them.
    ordered = -objectives[order]
    different = np.ones(len(ordered), dtype=np.bool_)
    different[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    lasts: list[float] = []
    ranks: list[int] = []
    for second in ordered[different, 1].tolist():
        rank = bisect_right(lasts, second)
        if rank == len(lasts):
            lasts.append(second)
        else:
            lasts[rank] = second
        ranks.append(rank)
    result = np.empty(len(objectives), dtype=np.int64)
    result[order] = np.array(ranks, dtype=np.int64)[np.cumsum(different) - 1]
    return result


def crowding_distances(objectives: Objectives, ranks: Ints) -> Floats:
    """How alone each row stands in its front: the mean, over the objectives, of the gap between its two neighbours.

    Gaps are shares of the front's own range; the ends of a front stand infinitely alone.
    """
    total = np.zeros(len(objectives))
    for values in objectives.T:
        order = np.lexsort((values, ranks))
        total[order] += _gaps(values[order], ranks[order])
    mean: Floats = total / objectives.shape[1]
    return mean


def _gaps(values: Floats, ranks: Ints) -> Floats:
    """For rows sorted by rank, then value."""
    if not len(values):
        return np.zeros(0)
    starts = np.flatnonzero(np.diff(ranks, prepend=ranks[0] - 1))
    stops = np.append(starts[1:], len(values)) - 1
    sizes = stops - starts + 1
    spans = np.repeat(values[stops] - values[starts], sizes)
    gaps = np.empty(len(values))
    gaps[1:-1] = values[2:] - values[:-2]
    gaps[starts] = gaps[stops] = np.inf
    # Where all values are equal there is no range to measure by, and nobody stands alone; but one or two always do.
    with np.errstate(divide="ignore", invalid="ignore"):
        shares: Floats = np.where(spans > 0, gaps / spans, 0.0)
    shares[np.repeat(sizes <= 2, sizes)] = np.inf
    return shares


def best_first(ranks: Ints, crowding: Floats, rng: np.random.Generator) -> Ints:
    """All rows in the order in which they survive: by front, within a front the most alone first, ties drawn."""
    return np.lexsort((rng.random(len(ranks)), -crowding, ranks))


def tournament(objectives: Objectives, crowding: Floats, count: int, rng: np.random.Generator) -> Ints:
    """Rows that won a binary tournament: who dominates, else who stands more alone, else by lot.

    Every row meets equally many opponents, as far as `count` allows.
    """
    one, other = _drawn(len(objectives), 2 * count, rng).reshape(count, 2).T
    better = dominates(objectives, one, other)
    worse = dominates(objectives, other, one)
    even = (crowding[one] == crowding[other]) & (rng.random(count) < 0.5)
    wins = better | (~worse & ((crowding[one] > crowding[other]) | even))
    return np.where(wins, one, other)


def _drawn(size: int, count: int, rng: np.random.Generator) -> Ints:
    """`count` rows of `size`, from as many permutations as it takes."""
    rounds = -(-count // size)
    return np.concatenate([rng.permutation(size) for _ in range(rounds)])[:count]


def dominates(objectives: Objectives, one: Ints, other: Ints) -> NDArray[np.bool_]:
    """Which of the first rows are nowhere behind the others, and somewhere ahead."""
    ahead, behind = objectives[one], objectives[other]
    return np.asarray((ahead >= behind).all(axis=1) & (ahead > behind).any(axis=1))
