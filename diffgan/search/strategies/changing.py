"""Arrays of which few rows change at a time: a checkpoint holds one as it was, and the rows that changed since."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from diffgan.search.checkpoint import frozen
from diffgan.search.strategies.protocol import State

#: After so many changes, or rows in all of them for each that the array has, they become part of what it was.
_MOST, _TIMES = 64, 4


class Changing:
    """An array, with a record of its changes.

    Args:
        array: as it is; whoever writes into it says which rows.
    """

    def __init__(self, array: NDArray[Any]) -> None:
        self.array = array
        self._was = frozen(array)
        self._changes: list[tuple[NDArray[np.int32], NDArray[Any]]] = []
        self._changed = 0

    def note(self, rows: NDArray[Any]) -> None:
        """These rows were written into."""
        if not len(rows):
            return
        rows = np.unique(rows)
        self._changes.append((frozen(rows.astype(np.int32)), frozen(self.array[rows])))
        self._changed += len(rows)
        if len(self._changes) > _MOST or self._changed > _TIMES * len(self.array):
            self._settle()

    def state(self, name: str) -> State:
        """What `restored` needs: arrays that nobody writes into, so that each is packed and written once."""
        parts: State = {f"{name}/was": self._was}
        for place, (rows, values) in enumerate(self._changes):
            parts |= {f"{name}/rows/{place}": rows, f"{name}/values/{place}": values}
        return parts

    @classmethod
    def restored(cls, state: State, name: str) -> Self:
        """What `state` was taken of."""
        made = cls(state[f"{name}/was"].copy())
        while f"{name}/rows/{len(made._changes)}" in state:
            place = len(made._changes)
            rows, values = state[f"{name}/rows/{place}"], state[f"{name}/values/{place}"]
            made.array[rows] = values
            made._changes.append((frozen(rows), frozen(values)))
            made._changed += len(rows)
        return made

    def _settle(self) -> None:
        self._was, self._changes, self._changed = frozen(self.array), [], 0
