"""Rows in the order of discovery, a bounded number at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from diffgan.archive.columns import KEPT, Column, decode, empty, row_bytes, source_of
from diffgan.archive.faults import damaged, telling
from diffgan.archive.layout import Layout

_PAGE_BYTES = 8 * 1024 * 1024
_MOST_ROWS = 4096

Arrays = dict[str, NDArray[Any]]


@dataclass(frozen=True)
class Source:
    """An open archive, as far as reading goes."""

    connection: sqlite3.Connection
    path: Path
    layout: Layout


@dataclass(frozen=True)
class Selection:
    """Which triggers to read: all, only the kept, only those on which a filter has still to speak."""

    kept_only: bool = False
    unjudged_by: str | None = None

    @property
    def conditions(self) -> str:
        """SQL to append to a WHERE."""
        text = f" AND {KEPT}" if self.kept_only else ""
        if self.unjudged_by is not None:
            text += " AND NOT EXISTS (SELECT 1 FROM verdicts w WHERE w.trigger = triggers.number AND w.filter = ?)"
        return text

    @property
    def parameters(self) -> tuple[str, ...]:
        """The values for its question marks."""
        return () if self.unjudged_by is None else (self.unjudged_by,)


def count(source: Source, selection: Selection) -> int:
    """How many triggers there are.

    Raises:
        ArchiveError: the file cannot be read.
    """
    # Rows are never removed, so neither question has to look at every row.
    sql = "SELECT coalesce(max(number), 0) FROM triggers"
    if selection.unjudged_by is not None:
        sql = f"SELECT count(*) FROM triggers WHERE TRUE{selection.conditions}"
    elif selection.kept_only:
        sql = f"SELECT ({sql}) - (SELECT count(DISTINCT trigger) FROM verdicts WHERE passed = 0)"
    with telling("read the archive", source.path):
        (number,) = source.connection.execute(sql, selection.parameters).fetchone()
    return int(number)


def pages(source: Source, columns: Sequence[Column], selection: Selection, size: int | None) -> Iterator[Arrays]:
    """The columns of the triggers that are there now, page by page; each page is a short transaction of its own.

    Raises:
        ArchiveError: the file cannot be read.
    """
    size = size or max(1, min(_MOST_ROWS, _PAGE_BYTES // row_bytes(source.layout)))
    last, reached = count(source, Selection()), 0
    sql = (
        f"SELECT number, {_listed(columns)} FROM {source_of(columns)} "
        f"WHERE number > ? AND number <= ?{selection.conditions} ORDER BY number LIMIT ?"
    )
    while reached < last:
        with telling("read the archive", source.path):
            rows = source.connection.execute(sql, (reached, last, *selection.parameters, size)).fetchall()
        if not rows:
            return
        reached = rows[-1][0]
        yield arrays(source, columns, [row[1:] for row in rows])


def rows_by_number(
    source: Source, columns: Sequence[Column], numbers: Sequence[int | None]
) -> list[tuple[Any, ...] | None]:
    """The rows with these places in the order of discovery; None where the archive has none.

    Raises:
        ArchiveError: the file cannot be read.
    """
    sql = f"SELECT {_listed(columns)} FROM {source_of(columns)} WHERE number = ?"
    with telling("read the archive", source.path):
        return [source.connection.execute(sql, (number,)).fetchone() for number in numbers]


def arrays(source: Source, columns: Sequence[Column], rows: Sequence[tuple[Any, ...]]) -> Arrays:
    """The rows, turned into columns.

    Raises:
        ArchiveError: the values do not make sense.
    """
    if not rows:
        return {column.name: empty(column, source.layout) for column in columns}
    try:
        values = zip(*rows, strict=True)
        return {c.name: decode(c, v, source.layout) for c, v in zip(columns, values, strict=True)}
    except (ValueError, TypeError, OverflowError) as error:
        raise damaged(source.path, str(error)) from error


def _listed(columns: Sequence[Column]) -> str:
    return ", ".join(column.expression for column in columns)
