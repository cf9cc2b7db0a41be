"""Which new triggers are distinct from all that were found before, by their thumbnails and within their cell."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.strategies.protocol import State
from diffgan.stats.distances import Float32s, directions

#: Distinct triggers remembered; where there are more, the fullest cell forgets the older half of its own.
MOST = 65_536
#: Rows of a part of the state: a checkpoint writes a part anew only where it has changed.
_PART = 1024

Ints = NDArray[np.int64]


class Novelty:
    """Remembers distinct triggers.

    Args:
        distance: a trigger is distinct where it is farther than this (cosine) from each one remembered of its cell.
        most: how many are remembered.
    """

    def __init__(self, distance: float, most: int = MOST) -> None:
        from threadpoolctl import ThreadpoolController

        # A second thread of numpy's would get in the way of the models' threads.
        self._numpy = ThreadpoolController().select(user_api="blas")
        self._most_alike = np.float32(1 - distance)
        self._most = most
        self._cells: dict[int, _Cell] = {}
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def admit(self, small: ByteImages, cells: Ints) -> NDArray[np.bool_]:
        """Which of N thumbnails are distinct from those before them, also among the N; they are remembered."""
        admitted = np.zeros(len(small), dtype=np.bool_)
        if not len(small):
            return admitted
        unit = directions(small)
        rows = small.reshape(len(small), -1)
        order = np.argsort(cells, kind="stable")
        present, starts = np.unique(cells[order], return_index=True)
        with self._numpy.limit(limits=1):
            for cell, places in zip(present.tolist(), np.split(order, starts[1:]), strict=True):
                if cell not in self._cells:
                    self._cells[cell] = _Cell(rows.shape[1])
                chosen = places[self._cells[cell].distinct(unit[places], self._most_alike)]
                if len(chosen):
                    self._cells[cell].add(rows[chosen], unit[chosen])
                    admitted[chosen] = True
        self._count += int(admitted.sum())
        while self._count > self._most:
            self._count -= max(self._cells.values(), key=len).forget()
        return admitted

    def state(self) -> State:
        """What is remembered, in parts."""
        parts: State = {"cells": np.array(list(self._cells), dtype=np.int64)}
        for cell, remembered in self._cells.items():
            for start in range(0, len(remembered), _PART):
                parts[f"{cell}/{start}"] = remembered.rows[start : start + _PART]
        return parts

    def restore(self, state: State) -> None:
        """Goes on where `state` was taken."""
        self._cells, self._count = {}, 0
        for cell in state["cells"].tolist():
            starts = sorted(int(name.partition("/")[2]) for name in state if name.startswith(f"{cell}/"))
            rows = [state[f"{cell}/{start}"] for start in starts]
            self._cells[cell] = _Cell(rows[0].shape[1] if rows else 0)
            for part in rows:
                self._cells[cell].add(part, directions(part))
                self._count += len(part)


class _Cell:
    """The thumbnails of one cell, as bytes and as vectors of length 1, in arrays that have room to grow."""

    def __init__(self, size: int) -> None:
        self._count = 0
        self._rows = np.empty((0, size), dtype=np.uint8)
        self._unit = np.empty((0, size + 1), dtype=np.float32)

    def __len__(self) -> int:
        return self._count

    @property
    def rows(self) -> NDArray[np.uint8]:
        """The thumbnails, a row each."""
        return self._rows[: self._count]

    def distinct(self, unit: Float32s, most_alike: np.float32) -> Ints:
        """The places of those that are less alike to each one here, and to each one chosen before."""
        free = np.ones(len(unit), dtype=np.bool_)
        if self._count:
            free = (unit @ self._unit[: self._count].T).max(axis=1) < most_alike
        places = np.flatnonzero(free)
        if len(places) < 2:
            return places
        near = unit[places] @ unit[places].T >= most_alike
        alive = np.ones(len(places), dtype=np.bool_)
        for place in range(len(places)):
            if alive[place]:
                alive[place + 1 :] &= ~near[place, place + 1 :]
        return places[alive]

    def add(self, rows: NDArray[np.uint8], unit: Float32s) -> None:
        """Appends them."""
        wanted = self._count + len(rows)
        if wanted > len(self._rows):
            room = max(wanted, 2 * len(self._rows), 16)
            self._rows = np.concatenate([self.rows, np.empty((room - self._count, rows.shape[1]), dtype=np.uint8)])
            self._unit = np.concatenate(
                [self._unit[: self._count], np.empty((room - self._count, unit.shape[1]), dtype=np.float32)]
            )
        self._rows[self._count : wanted] = rows
        self._unit[self._count : wanted] = unit
        self._count = wanted

    def forget(self) -> int:
        """Drops the older half; says how many that were."""
        gone = (self._count + 1) // 2
        kept = self._count - gone
        self._rows = self._rows[gone : self._count].copy()
        self._unit = self._unit[gone : self._count].copy()
        self._count = kept
        return gone
