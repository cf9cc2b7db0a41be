"""Which images the archive has, by id.

Ids are random numbers: in an index, each of a batch would dirty a page of its own, and every batch would write
megabytes for a few kilobytes of ids. So the ids of the latest triggers, the tail, are indexed in memory only, by each
connection for itself; from there they go to the table `known_before`, many at once and in order.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError
from diffgan.images import hex_id

TAIL_MOST = 32_768
_PARAMETERS_MOST = 512  # older SQLite takes no more than 999 in one statement
_UNTIL = "known_until"


class Known:
    """The numbers of the triggers by id; every call takes place within the caller's transaction, if there is one.

    Args:
        connection: to the archive.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        #: Triggers up to this number are in the table; those after it, up to `_seen`, are in the tail.
        self._until, self._seen = 0, 0
        self._tail: dict[int, int] = {}
        self._sieve: _Sieve | None = None

    def numbers_of(self, ids: Sequence[int]) -> dict[int, int]:
        """The number of each id that the archive has."""
        self._refresh()
        found = {number: self._tail[number] for number in ids if number in self._tail}
        return {**found, **self._numbers_before([number for number in ids if number not in found])}

    def required(self, ids: NDArray[np.int64], *, what: str) -> list[int]:
        """The number of each id.

        Raises:
            DataError: the archive lacks one; the message says `what` names it.
        """
        listed = ids.tolist()
        found = self.numbers_of(listed)
        for number in listed:
            if number not in found:
                raise DataError(
                    f"{what} name the trigger {hex_id(number)}, which this archive does not have: give the archive "
                    "that it came from, or leave it out."
                )
        return [found[number] for number in listed]

    def has(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For each id, whether the archive has it; quick where most are new."""
        self._refresh()
        known = np.fromiter(map(self._tail.__contains__, ids.tolist()), dtype=np.bool_, count=len(ids))
        if self._until:
            if self._sieve is None:
                self._sieve = _Sieve(self._ids_before())
            maybe = np.flatnonzero(~known & self._sieve.may_have(ids))
            before = self._numbers_before(ids[maybe].tolist())
            known[maybe] = [number in before for number in ids[maybe].tolist()]
        return known

    def settle(self) -> None:
        """Moves a long tail to the table; for the writer of triggers, before it commits."""
        self._refresh()
        if len(self._tail) < TAIL_MOST:
            return
        sql = "INSERT OR IGNORE INTO known_before SELECT id, number FROM triggers WHERE number > ? ORDER BY id"
        self._connection.execute(sql, (self._until,))
        self._connection.execute("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", (_UNTIL, str(self._seen)))

    @contextmanager
    def undone_with(self) -> Iterator[None]:
        """Around a transaction that adds triggers: where it fails, what was read within it is taken for nothing."""
        try:
            yield
        except BaseException:
            self._until, self._seen, self._tail, self._sieve = 0, 0, {}, None
            raise

    def _refresh(self) -> None:
        sql = "SELECT coalesce(max(CAST(value AS INTEGER)), 0) FROM meta WHERE name = ?"
        (until,) = self._connection.execute(sql, (_UNTIL,)).fetchone()
        if until != self._until:
            if self._sieve is not None and until == self._seen:
                self._sieve.add(np.fromiter(self._tail, dtype=np.int64, count=len(self._tail)))
            else:
                self._sieve = None
            self._until, self._seen, self._tail = until, until, {}
        later = self._connection.execute("SELECT id, number FROM triggers WHERE number > ?", (self._seen,)).fetchall()
        if later:
            self._tail.update(later)
            self._seen = later[-1][1]

    def _numbers_before(self, ids: Sequence[int]) -> dict[int, int]:
        found: dict[int, int] = {}
        if not self._until:
            return found
        for start in range(0, len(ids), _PARAMETERS_MOST):
            some = ids[start : start + _PARAMETERS_MOST]
            sql = f"SELECT id, number FROM known_before WHERE id IN ({','.join('?' * len(some))})"
            found.update(self._connection.execute(sql, some))
        return found

    def _ids_before(self) -> NDArray[np.int64]:
        rows = self._connection.execute("SELECT id FROM known_before")
        return np.fromiter((number for (number,) in rows), dtype=np.int64)


class _Sieve:
    """Tells most ids apart from those that it was given, in 4 MiB, whatever their count."""

    _BITS = 25

    def __init__(self, ids: NDArray[np.int64]) -> None:
        self._bytes = np.zeros(1 << (self._BITS - 3), dtype=np.uint8)
        self.add(ids)

    def add(self, ids: NDArray[np.int64]) -> None:
        place, bit = self._place(ids)
        np.bitwise_or.at(self._bytes, place, bit)

    def may_have(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """False where it was never given the id; True mostly where it was."""
        place, bit = self._place(ids)
        may: NDArray[np.bool_] = (self._bytes[place] & bit) != 0
        return may

    def _place(self, ids: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        # Ids are the start of a hash: any of their bits are as good as random.
        index = ids & ((1 << self._BITS) - 1)
        return index >> 3, np.left_shift(1, index & 7).astype(np.uint8)
