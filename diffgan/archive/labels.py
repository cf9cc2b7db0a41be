"""What people and judges say that an image shows."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.archive.connection import writing
from diffgan.archive.faults import telling
from diffgan.archive.known import Known
from diffgan.errors import DataError

#: So that no sum is too large for SQLite.
MARK_MODULUS = (1 << 31) - 1

_INSERT = """
INSERT INTO labels (trigger, annotator, class, time)
VALUES (?, ?, ?, ?)
ON CONFLICT (trigger, annotator) DO """
_REPLACE = _INSERT + "UPDATE SET class = excluded.class, time = excluded.time"
_KEEP = _INSERT + "NOTHING"


@dataclass(frozen=True, kw_only=True, eq=False)
class LabelColumns:
    """Labels in the triggers' order of discovery, several annotators of one trigger by name.

    Args:
        ids: the triggers.
        annotators: who said so.
        classes: the class, or None for an image that shows no class.
        times: when, in seconds since 1970.
    """

    ids: NDArray[np.int64]
    annotators: tuple[str, ...]
    classes: tuple[int | None, ...]
    times: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ids)

    def without(self, annotators: Iterable[str]) -> LabelColumns:
        """All but those of some annotators."""
        left_out = set(annotators)
        chosen = [place for place, annotator in enumerate(self.annotators) if annotator not in left_out]
        return LabelColumns(
            ids=self.ids[chosen],
            annotators=tuple(self.annotators[place] for place in chosen),
            classes=tuple(self.classes[place] for place in chosen),
            times=self.times[chosen],
        )


@dataclass(frozen=True)
class Labels:
    """The labels of an archive; reach them as `archive.labels`."""

    connection: sqlite3.Connection
    path: Path
    known: Known
    class_names: tuple[str, ...] | None

    def write(
        self,
        annotator: str,
        ids: NDArray[np.int64],
        classes: Sequence[int | None],
        *,
        times: Sequence[float] | None = None,
        replace: bool = True,
    ) -> int:
        """Writes one annotator's labels, all or none, and returns how many were written.

        Args:
            annotator: who says so.
            ids: the triggers, by id.
            classes: the class of each, or None for an image that shows no class.
            times: when it was said, in seconds since 1970; now by default.
            replace: whether a former label of this annotator gives way; otherwise it stays.

        Raises:
            DataError: an id is not in the archive, a class is none, or the columns differ in length.
            ArchiveError: the disk refuses.
        """
        rows = len(ids)
        moments = [time.time()] * rows if times is None else list(times)
        self._check(annotator, rows, classes, moments)
        plain = [None if label is None else int(label) for label in classes]  # SQLite knows no numpy integers
        with writing(self.connection, self.path):
            numbers = self.known.required(ids, what=f"Labels by {annotator}")
            columns = zip(numbers, [annotator] * rows, plain, moments, strict=True)
            written = self.connection.executemany(_REPLACE if replace else _KEEP, columns).rowcount
        return max(written, 0)

    def write_all(self, said: Mapping[str, Mapping[int, int | None]], *, alone: bool = False) -> None:
        """Writes the labels of several annotators, all or none; their former labels of the same triggers give way.

        Args:
            said: the class (or None for an image that shows none) by the trigger's id, by annotator.
            alone: whether these annotators' labels of other triggers are taken back.

        Raises:
            DataError: an id is not in the archive, or a class is none.
            ArchiveError: the disk refuses.
        """
        now = time.time()
        for annotator, classes in said.items():
            self._check(annotator, len(classes), list(classes.values()), [now] * len(classes))
        with writing(self.connection, self.path):
            for annotator, classes in said.items():
                if alone:
                    self.connection.execute("DELETE FROM labels WHERE annotator = ?", (annotator,))
                numbers = self.known.required(np.array(list(classes), dtype=np.int64), what=f"Labels by {annotator}")
                rows = zip(numbers, repeat(annotator), classes.values(), repeat(now), strict=False)
                self.connection.executemany(_REPLACE, rows)

    def remove(self, annotator: str, ids: NDArray[np.int64]) -> None:
        """Takes labels back, all or none; where there is none, nothing happens.

        Raises:
            ArchiveError: the disk refuses.
        """
        sql = "DELETE FROM labels WHERE annotator = ? AND trigger = ?"
        with writing(self.connection, self.path):
            numbers = self.known.numbers_of(ids.tolist()).values()
            self.connection.executemany(sql, [(annotator, number) for number in numbers])

    def read(self, annotator: str | None = None) -> LabelColumns:
        """All labels, or those of one annotator.

        Raises:
            ArchiveError: the file cannot be read.
        """
        sql = "SELECT id, annotator, class, time FROM labels JOIN triggers ON number = trigger"
        if annotator is not None:
            sql += " WHERE annotator = ?"
        parameters = () if annotator is None else (annotator,)
        with telling("read the archive", self.path):
            rows = self.connection.execute(f"{sql} ORDER BY trigger, annotator", parameters).fetchall()
        return LabelColumns(
            ids=np.array([row[0] for row in rows], dtype=np.int64),
            annotators=tuple(row[1] for row in rows),
            classes=tuple(row[2] for row in rows),
            times=np.array([row[3] for row in rows], dtype=np.float64),
        )

    def counts(self) -> dict[str, int]:
        """How many triggers each annotator has labelled.

        Raises:
            ArchiveError: the file cannot be read.
        """
        sql = "SELECT annotator, count(*) FROM labels GROUP BY annotator ORDER BY annotator"
        with telling("read the archive", self.path):
            return dict(self.connection.execute(sql).fetchall())

    def marks(self, *, but: str) -> dict[str, tuple[int, int, int]]:
        """Of each annotator, numbers that hardly any other labels have in common.

        They are: how many triggers are labelled, and two sums over them: the trigger's number times the class and 2
        (where an image that shows no class counts as -1), and the same of its square, modulo `MARK_MODULUS`.

        Args:
            but: annotators whose names begin so are left out.

        Raises:
            ArchiveError: the file cannot be read.
        """
        weight = "(coalesce(class, -1) + 2)"
        sums = f"sum(trigger * {weight}), sum(trigger * trigger * {weight} % {MARK_MODULUS})"
        sql = f"SELECT annotator, count(*), {sums} FROM labels WHERE substr(annotator, 1, ?) <> ? GROUP BY annotator"
        with telling("read the archive", self.path):
            rows = self.connection.execute(sql, (len(but), but))
            return {annotator: (count, first, second) for annotator, count, first, second in rows}

    def between(self, first: int, last: int) -> dict[int, dict[str, int | None]]:
        """The class by annotator, by the number of the trigger, from `first` to `last`.

        Raises:
            ArchiveError: the file cannot be read.
        """
        sql = "SELECT trigger, annotator, class FROM labels WHERE trigger BETWEEN ? AND ?"
        found: dict[int, dict[str, int | None]] = {}
        with telling("read the archive", self.path):
            for number, annotator, label in self.connection.execute(sql, (first, last)):
                found.setdefault(number, {})[annotator] = label
        return found

    def _check(self, annotator: str, rows: int, classes: Sequence[int | None], moments: Sequence[float]) -> None:
        try:
            annotator.encode()
        except UnicodeEncodeError:
            raise DataError(f"The annotator's name {annotator!a} is no UTF-8: give another name.") from None
        if not len(classes) == len(moments) == rows:
            raise DataError(
                f"Labels by {annotator} of {rows} triggers came with {len(classes)} classes and {len(moments)} times; "
                "expected one of each per trigger."
            )
        for label in classes:
            if label is not None and (label < 0 or (self.class_names and label >= len(self.class_names))):
                limit = f"0 to {len(self.class_names) - 1}" if self.class_names else "0 or more"
                raise DataError(f"A label by {annotator} is class {label}; expected {limit}, or None for no class.")
