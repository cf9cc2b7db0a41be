"""Which new triggers are distinct from all that were found before, by their thumbnails and within their cell."""

from __future__ import annotations

from heapq import heapify, heapreplace

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.checkpoint import frozen
from diffgan.search.strategies.protocol import State
from diffgan.stats.distances import Float32s, directions

#: Distinct triggers remembered; where there are more, the fullest cells forget the older halves of theirs.
MOST = 32_768
#: Of so many parts of them one goes then.
_MAKE_ROOM = 8
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
        self._log = _Log()

    def __len__(self) -> int:
        return len(self._log)

    def thin(self, fewer: int) -> float:
        """The share of the cells that hold less than so many, of those that hold any; 0 where there are none."""
        return sum(len(cell) < fewer for cell in self._cells.values()) / max(1, len(self._cells))

    def admit(self, small: ByteImages, cells: Ints) -> NDArray[np.bool_]:
        """Which of N thumbnails are distinct from those before them, also among the N; they are remembered."""
        return self._looked_through(small, cells, remember=True)

    def distinct(self, small: ByteImages, cells: Ints) -> NDArray[np.bool_]:
        """Which of N thumbnails `admit` would admit, of images that nobody has seen yet."""
        return self._looked_through(small, cells, remember=False)

    def _looked_through(self, small: ByteImages, cells: Ints, *, remember: bool) -> NDArray[np.bool_]:
        admitted = np.zeros(len(small), dtype=np.bool_)
        if not len(small):
            return admitted
        unit = directions(small)
        rows = small.reshape(len(small), -1)
        order = np.argsort(cells, kind="stable")
        present, starts = np.unique(cells[order], return_index=True)
        with self._numpy.limit(limits=1):
            for cell, start, stop in zip(present.tolist(), starts, [*starts[1:], len(order)], strict=True):
                places = order[start:stop]
                known = self._cells.get(cell) or _Cell(rows.shape[1])
                chosen = places[known.distinct(unit[places], self._most_alike)]
                admitted[chosen] = True
                if remember and len(chosen):
                    self._cells.setdefault(cell, known).add(unit[chosen])
        if remember:
            self._remember(rows[admitted], cells[admitted])
        return admitted

    def _remember(self, rows: NDArray[np.uint8], cells: Ints) -> None:
        self._log.add(rows, cells)
        if len(self._log) > self._most:
            # Some at a time, since whatever came after them moves in the state.
            self._make_room(self._most - self._most // _MAKE_ROOM)

    def _make_room(self, most: int) -> None:
        """The fullest cell forgets the older half of its own, then the fullest one of all again."""
        # Of equally full ones the greatest number, since the order of cells is another after `restore`.
        fullest = [(-len(cell), -number) for number, cell in self._cells.items()]
        heapify(fullest)
        gone: dict[int, int] = {}
        kept = len(self._log)
        while kept > most:
            size, number = -fullest[0][0], -fullest[0][1]
            half = (size + 1) // 2
            heapreplace(fullest, (half - size, -number))
            gone[number] = gone.get(number, 0) + half
            kept -= half
        for number, count in gone.items():
            self._cells[number].forget(count)
            if not len(self._cells[number]):
                del self._cells[number]
        self._log = self._log.without_first(gone)

    def state(self) -> State:
        """What is remembered, in parts."""
        return self._log.parts()

    def restore(self, state: State) -> None:
        """Goes on where `state` was taken."""
        self._cells, self._log = {}, _Log()
        for place in range(len(state) // 2):
            rows, cells = state[f"rows/{place}"], state[f"cells/{place}"]
            unit = directions(rows)
            for cell in np.unique(cells).tolist():
                chosen = cells == cell
                self._cells.setdefault(cell, _Cell(rows.shape[1])).add(unit[chosen])
            self._log.add(rows, cells)


class _Log:
    """All that is remembered, in the order in which it came, in parts: all but the last one never change."""

    def __init__(self) -> None:
        self._full: list[tuple[NDArray[np.uint8], Ints]] = []
        self._rows: list[NDArray[np.uint8]] = []
        self._cells: list[Ints] = []
        self._open = 0

    def __len__(self) -> int:
        return len(self._full) * _PART + self._open

    def add(self, rows: NDArray[np.uint8], cells: Ints) -> None:
        """Appends them."""
        while len(rows):
            room = _PART - self._open
            self._rows.append(rows[:room])
            self._cells.append(cells[:room])
            self._open += len(rows[:room])
            rows, cells = rows[room:], cells[room:]
            if self._open == _PART:
                self._full.append((frozen(np.concatenate(self._rows)), frozen(np.concatenate(self._cells))))
                self._rows, self._cells, self._open = [], [], 0

    def parts(self) -> State:
        """Two arrays a part."""
        whole = list(self._full)
        if self._open:
            whole.append((np.concatenate(self._rows), np.concatenate(self._cells)))
        rows: State = {f"rows/{place}": part[0] for place, part in enumerate(whole)}
        return rows | {f"cells/{place}": part[1] for place, part in enumerate(whole)}

    def without_first(self, counts: dict[int, int]) -> _Log:
        """The same without the first so many of each cell."""
        parts = [*self._full, *zip(self._rows, self._cells, strict=True)]
        rows, cells = (np.concatenate(column) for column in zip(*parts, strict=True))
        kept = np.ones(len(cells), dtype=np.bool_)
        for cell, count in counts.items():
            kept[np.flatnonzero(cells == cell)[:count]] = False
        shorter = _Log()
        shorter.add(rows[kept], cells[kept])
        return shorter


#: Places of one among one.
_FIRST, _NONE = np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.int64)


class _Cell:
    """The thumbnails of one cell as vectors of length 1, in an array that has room to grow."""

    def __init__(self, size: int) -> None:
        self._count = 0
        self._unit = np.empty((0, size + 1), dtype=np.float32)

    def __len__(self) -> int:
        return self._count

    def distinct(self, unit: Float32s, most_alike: np.float32) -> Ints:
        """The places of those that are less alike to each one here, and to each one chosen before."""
        if len(unit) == 1:  # most often, and quicker so
            return _FIRST if not self._count or (self._unit[: self._count] @ unit[0]).max() < most_alike else _NONE
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

    def add(self, unit: Float32s) -> None:
        """Appends them."""
        wanted = self._count + len(unit)
        if wanted > len(self._unit):
            room = max(wanted, 2 * len(self._unit), 16)
            self._unit = np.concatenate(
                [self._unit[: self._count], np.empty((room - self._count, unit.shape[1]), dtype=np.float32)]
            )
        self._unit[self._count : wanted] = unit
        self._count = wanted

    def forget(self, count: int) -> None:
        """Drops the oldest ones."""
        self._unit = self._unit[count : self._count].copy()
        self._count -= count
