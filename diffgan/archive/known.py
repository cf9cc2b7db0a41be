"""Which images the archive has, by id.

Ids are random numbers: in one large index, each of a batch would dirty a page of its own, and every batch would write
megabytes for a few kilobytes of ids. So new ids go to a small table first, and from there, many at once and in order,
to the large one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

_RECENT_MOST = 32_768
_PARAMETERS_MOST = 512  # older SQLite takes no more than 999 in one statement


def numbers_of(connection: sqlite3.Connection, ids: Sequence[int]) -> dict[int, int]:
    """The number of each id that the archive has."""
    found: dict[int, int] = {}
    for start in range(0, len(ids), _PARAMETERS_MOST):
        some = ids[start : start + _PARAMETERS_MOST]
        sql = f"SELECT id, number FROM known WHERE id IN ({','.join('?' * len(some))})"
        found.update(connection.execute(sql, some))
    return found


def remember(connection: sqlite3.Connection, new: Iterable[tuple[int, int]]) -> None:
    """Takes in new pairs of id and number, within the caller's transaction."""
    connection.executemany("INSERT INTO known_recent (id, number) VALUES (?, ?)", new)
    (recent,) = connection.execute("SELECT count(*) FROM known_recent").fetchone()
    if recent >= _RECENT_MOST:
        connection.execute("INSERT INTO known_before (id, number) SELECT id, number FROM known_recent ORDER BY id")
        connection.execute("DELETE FROM known_recent")
