"""Samples that hold the rare kinds of disagreement, too: a search finds many of a few."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive

Ints = NDArray[np.int64]


def in_turn(kinds: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Rows of a sample, ascending: one of each kind, then another one of each, and so on; within a kind by lot.

    Args:
        kinds: a number for each of N; equal for what is of one kind.
        count: of the sample; all, where there are no more.
        rng: decides.

    Example:
        >>> in_turn(np.array([7, 7, 7, 7, 2]), 2, np.random.default_rng(0)).tolist()[-1]
        4
    """
    shuffled = rng.permutation(len(kinds))
    order = shuffled[np.argsort(kinds[shuffled], kind="stable")]
    _, starts, sizes = np.unique(kinds[order], return_index=True, return_counts=True)
    turn = np.empty(len(kinds), dtype=np.int64)
    turn[order] = np.arange(len(kinds)) - np.repeat(starts, sizes)
    # Which kinds have a place in the last turn is decided by lot, too.
    return np.sort(np.lexsort((rng.random(len(kinds)), turn))[:count])


def ids_and_kinds(archive: Archive) -> tuple[Ints, Ints]:
    """The id of each trigger, and a number for what A and B say of it."""
    # The same number for the same kind in every archive, whatever labels it holds.
    with archive.snapshot():  # a search may still be writing
        return archive.column("ids"), (archive.column("label_a") << 32) + archive.column("label_b")
