"""What DRFuzz learns from answers: which operators pay, and which mutants are worth to be mutated further."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import NDArray

from diffgan.search.strategies.changing import Changing
from diffgan.search.strategies.protocol import State

Outputs = NDArray[np.float32]

#: The table of gains has about so many numbers in all.
_TABLE = 1 << 17

#: Knuth's, for spreading sources and labels over the table's rows.
_SPREAD = np.uint64(2654435761)


class OperatorCounts:
    """Of each operator, how often it was picked, brought a faithful mutant, and was rewarded.

    Args:
        count: of operators.
    """

    def __init__(self, count: int) -> None:
        self.picked, self.faithful, self.rewarded = np.zeros((3, count), dtype=np.int64)

    def scores(self) -> NDArray[np.float64]:
        """Rewards x faithful / picked²; 1, which none exceeds, for one that was never picked."""
        often = np.maximum(self.picked, 1).astype(np.float64)
        return np.where(self.picked == 0, 1.0, self.rewarded * self.faithful / often**2)

    def state(self) -> State:
        """A row for each of the three."""
        return {"operators": np.stack([self.picked, self.faithful, self.rewarded])}

    def restore(self, state: State) -> None:
        """Goes on from there."""
        self.picked, self.faithful, self.rewarded = state["operators"].copy()


def rewarding(parent: Outputs, a: Outputs, b: Outputs) -> NDArray[np.bool_]:
    """Whether mutants drive model B from the true label: from what it said of their parents, and from model A.

    Args:
        parent: what B gave the true label of each mutant's parent.
        a: what A gives that of the mutant.
        b: what B gives it.

    Example:
        >>> import numpy as np
        >>> rewarding(np.array([0.9, 0.9]), np.array([0.2, 0.9]), np.array([0.8, 0.95])).tolist()
        [False, False]
    """
    return np.asarray(2 * (parent - b) + (a - b) > 0)


class Gains:
    """By source and label, the most that B ever gave a class over what A gave it.

    The table has a fixed size, as a checkpoint must: where there are more sources and labels than rows, some share one.

    Args:
        classes: of the models.
    """

    def __init__(self, classes: int) -> None:
        self._table = Changing(np.zeros((max(64, _TABLE // classes), classes), dtype=np.float32))

    @property
    def best(self) -> Outputs:
        """A row for some sources and labels, a column a class."""
        return self._table.array

    def rows_of(self, roots: NDArray[np.int64], labels: NDArray[np.int64]) -> NDArray[np.int64]:
        """The row of each source and label."""
        keys = roots.astype(np.uint64) * np.uint64(self.best.shape[1]) + labels.astype(np.uint64)
        return ((keys * _SPREAD) % np.uint64(len(self.best))).astype(np.int64)

    def improve(self, roots: NDArray[np.int64], a: Outputs, b: Outputs) -> NDArray[np.bool_]:
        """Which mutants have some class other than B's label with more than the best so far; the table then knows."""
        labels = b.argmax(axis=1)
        gain = b - a
        gain[np.arange(len(gain)), labels] = -np.inf
        rows = self.rows_of(roots, labels)
        better = gain > self.best[rows]
        joins = np.asarray(better.any(axis=1))
        np.maximum.at(self.best, rows[joins], gain[joins])
        self._table.note(rows[joins])
        return joins

    def state(self) -> State:
        """The table."""
        return self._table.state("gains")

    @classmethod
    def restored(cls, state: State) -> Self | None:
        """What `state` was taken of; None where there is none yet."""
        if "gains/was" not in state:
            return None
        made = cls(state["gains/was"].shape[1])
        made._table = Changing.restored(state, "gains")
        return made
