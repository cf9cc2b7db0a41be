"""What the filters say about each trigger."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.archive.connection import writing
from diffgan.archive.faults import telling
from diffgan.archive.known import Known
from diffgan.errors import DataError

_WRITE = """
INSERT INTO verdicts (trigger, filter, passed, score, reason)
VALUES (?, ?, ?, ?, ?)
ON CONFLICT (trigger, filter) DO UPDATE SET passed = excluded.passed, score = excluded.score, reason = excluded.reason
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class VerdictColumns:
    """One filter's verdicts, in the triggers' order of discovery; a score is NaN where the filter gave none."""

    ids: NDArray[np.int64]
    passed: NDArray[np.bool_]
    scores: NDArray[np.float64]
    reasons: tuple[str, ...]


@dataclass(frozen=True)
class Verdicts:
    """The verdicts of an archive; reach them as `archive.verdicts`."""

    connection: sqlite3.Connection
    path: Path
    known: Known

    def write(
        self,
        name: str,
        ids: NDArray[np.int64],
        *,
        passed: NDArray[np.bool_],
        scores: NDArray[np.floating] | None = None,
        reasons: Sequence[str] | None = None,
    ) -> None:
        """Writes the verdicts of the filter `name`, all or none; a former verdict on a trigger is replaced.

        Args:
            name: the filter.
            ids: the triggers, by id.
            passed: True where the filter lets the trigger pass.
            scores: the number that decided, if there is one.
            reasons: in words; empty where there is nothing to say.

        Raises:
            DataError: an id is not in the archive, or the columns differ in length.
            ArchiveError: the disk refuses.
        """
        rows = len(ids)
        scored = [None] * rows if scores is None else scores.tolist()
        said = [""] * rows if reasons is None else list(reasons)
        if not len(passed) == len(scored) == len(said) == rows:
            raise DataError(
                f"Verdicts of {name} on {rows} triggers came with {len(passed)} outcomes, {len(scored)} scores and "
                f"{len(said)} reasons; expected one of each per trigger."
            )
        outcomes = np.asarray(passed, dtype=bool).tolist()
        with writing(self.connection, self.path):
            numbers = self.known.required(ids, what=f"Verdicts of {name}")
            self.connection.executemany(_WRITE, zip(numbers, [name] * rows, outcomes, scored, said, strict=True))

    def forget(self, name: str) -> None:
        """Removes all verdicts of the filter `name`.

        Raises:
            ArchiveError: the disk refuses.
        """
        with writing(self.connection, self.path):
            self.connection.execute("DELETE FROM verdicts WHERE filter = ?", (name,))

    def read(self, name: str) -> VerdictColumns:
        """All verdicts of the filter `name`.

        Raises:
            ArchiveError: the file cannot be read.
        """
        sql = """SELECT id, passed, score, reason FROM verdicts JOIN triggers ON number = trigger
                 WHERE filter = ? ORDER BY trigger"""
        with telling("read the archive", self.path):
            rows = self.connection.execute(sql, (name,)).fetchall()
        return VerdictColumns(
            ids=np.array([row[0] for row in rows], dtype=np.int64),
            passed=np.array([row[1] for row in rows], dtype=np.bool_),
            scores=np.array([row[2] for row in rows], dtype=np.float64),
            reasons=tuple(row[3] for row in rows),
        )

    def counts(self) -> dict[str, tuple[int, int]]:
        """How many triggers passed and failed, by filter.

        Raises:
            ArchiveError: the file cannot be read.
        """
        sql = "SELECT filter, sum(passed), sum(NOT passed) FROM verdicts GROUP BY filter ORDER BY filter"
        with telling("read the archive", self.path):
            return {name: (passed, failed) for name, passed, failed in self.connection.execute(sql)}

    def between(self, first: int, last: int) -> dict[int, dict[str, tuple[bool, float | None, str]]]:
        """Passed, score and reason by filter, by the number of the trigger, from `first` to `last`.

        Raises:
            ArchiveError: the file cannot be read.
        """
        sql = "SELECT trigger, filter, passed, score, reason FROM verdicts WHERE trigger BETWEEN ? AND ?"
        found: dict[int, dict[str, tuple[bool, float | None, str]]] = {}
        with telling("read the archive", self.path):
            for number, name, passed, score, reason in self.connection.execute(sql, (first, last)):
                found.setdefault(number, {})[name] = (bool(passed), score, reason)
        return found
