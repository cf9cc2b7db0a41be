"""Measures collapse as a search goes: how far its finds crowd into one pair of labels."""

from __future__ import annotations

from collections import Counter

import numpy as np
from numpy.typing import NDArray

#: The latest finds that tell whether a search is collapsing now.
RECENT = 2_000


class CollapseMeter:
    """Counts new triggers by cell, (label of A, label of B), in all and among the latest.

    Args:
        recent: how many of the latest to look at.
    """

    def __init__(self, recent: int = RECENT) -> None:
        self._all: Counter[int] = Counter()
        self._recent = recent
        self._latest = np.empty(0, dtype=np.int64)

    def observe(self, cells: NDArray[np.int64]) -> None:
        """Takes in new triggers, a number for the cell of each, in order."""
        self._all.update(cells.tolist())
        self._latest = np.concatenate([self._latest, cells])[-self._recent :]

    @property
    def cells(self) -> int:
        """How many cells have a trigger."""
        return len(self._all)

    @property
    def largest_share(self) -> float:
        """The fullest cell's share of all triggers; 0 where there is none."""
        return max(self._all.values(), default=0) / max(1, self._all.total())

    @property
    def largest_recent_share(self) -> float:
        """The fullest cell's share of the latest; 0 where there is none."""
        return int(np.unique(self._latest, return_counts=True)[1].max(initial=0)) / max(1, len(self._latest))

    def state(self) -> dict[str, NDArray[np.int64]]:
        """All of it, as arrays."""
        return {
            "collapse/cells": np.array(list(self._all), dtype=np.int64),
            "collapse/counts": np.array(list(self._all.values()), dtype=np.int64),
            "collapse/latest": self._latest,
        }

    def restore(self, state: dict[str, NDArray[np.int64]]) -> None:
        """Goes on where `state` was taken."""
        cells, counts = state["collapse/cells"].tolist(), state["collapse/counts"].tolist()
        self._all = Counter(dict(zip(cells, counts, strict=True)))
        self._latest = state["collapse/latest"]


def cells_of(outputs_a: NDArray[np.float32], outputs_b: NDArray[np.float32]) -> NDArray[np.int64]:
    """One number for each row's pair (label of A, label of B)."""
    pairs: NDArray[np.int64] = outputs_a.argmax(axis=1) * outputs_a.shape[1] + outputs_b.argmax(axis=1)
    return pairs


def beyond_quota(cells: NDArray[np.int64], quota: int) -> NDArray[np.bool_]:
    """Which rows stand in a cell that has `quota` rows before them; rows without a cell (below 0) never do.

    Example:
        >>> beyond_quota(np.array([3, 3, -1, -1, 3, 5]), 2).tolist()
        [False, False, False, False, True, False]
    """
    order = np.argsort(cells, kind="stable")
    ordered = cells[order]
    starts = np.searchsorted(ordered, ordered, side="left")
    beyond = np.empty(len(cells), dtype=np.bool_)
    beyond[order] = (np.arange(len(cells)) - starts >= quota) & (ordered >= 0)
    return beyond


def balanced(cells: NDArray[np.int64], room: int, quota: int) -> NDArray[np.int64]:
    """Which rows are taken of rows in order of merit: the first `room`, but whoever is beyond a cell's quota among
    them gives way to a later trigger of a cell with room. Rows without a cell neither give way nor come in for that.

    Example:
        >>> balanced(np.array([3, 3, 3, -1, -1, 5]), room=4, quota=2).tolist()
        [0, 1, 3, 5]
    """
    beyond = beyond_quota(cells, quota)
    excess = np.flatnonzero(beyond[:room])
    waiting = room + np.flatnonzero(~beyond[room:] & (cells[room:] >= 0))
    exchanged = min(len(excess), len(waiting))
    leaving = excess[len(excess) - exchanged :]
    return np.concatenate([np.delete(np.arange(min(room, len(cells))), leaving), waiting[:exchanged]])
