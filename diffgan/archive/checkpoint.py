"""The checkpoint of a search, by parts: only those that have changed since the last commit are written."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

_WRITE = "INSERT OR REPLACE INTO checkpoint (name, value) VALUES (?, ?)"


class Checkpoint:
    """What the table holds; reads and writes take place within the caller's transaction.

    Args:
        connection: to the archive.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        #: The parts as committed; None where that is not known.
        self._committed: dict[str, bytes] | None = None
        self._written: dict[str, bytes] | None = None

    def read(self) -> dict[str, bytes]:
        """All parts."""
        return dict(self._connection.execute("SELECT name, value FROM checkpoint").fetchall())

    def replace(self, parts: Mapping[str, bytes]) -> None:
        """Puts these parts in the place of all former ones; `committed` is to follow the commit."""
        former, self._committed = self._committed, None
        self._written = dict(parts)
        if former is None:
            self._connection.execute("DELETE FROM checkpoint")
            former = {}
        gone = [(name,) for name in former if name not in parts]
        self._connection.executemany("DELETE FROM checkpoint WHERE name = ?", gone)
        changed = [(name, value) for name, value in parts.items() if name not in former or former[name] != value]
        self._connection.executemany(_WRITE, changed)

    def committed(self) -> None:
        """What was written last is on the disk."""
        self._committed = self._written
