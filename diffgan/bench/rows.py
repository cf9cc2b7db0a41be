"""The rows of a bench: one JSON line a cell, written as soon as the cell is over, and never changed."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffgan.bench.cells import fingerprint_of
from diffgan.errors import ArchiveError, UsageError
from diffgan.runs import differences

FILE = "cells.jsonl"

DONE, FAILED = "done", "failed"

Row = dict[str, Any]


class Rows:
    """The file of a folder; of several rows of one cell, the last one counts.

    Args:
        folder: the bench's.

    Raises:
        UsageError: the file cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / FILE
        self._rows: dict[str, Row] = {}
        for number, line in enumerate(self._whole_lines(), 1):
            row = self._parsed(line, number)
            self._rows[row["cell"]] = row

    def get(self, key: str) -> Row | None:
        """The row of a cell, where there is one."""
        return self._rows.get(key)

    def is_done(self, key: str) -> bool:
        """Whether the cell need not be run; a failed one is tried again."""
        row = self._rows.get(key)
        return row is not None and row["status"] == DONE

    def keys(self) -> list[str]:
        """Of all cells that have a row, in the order of the file."""
        return list(self._rows)

    def check(self, definitions: Mapping[str, Mapping[str, Any]]) -> None:
        """Makes certain that no row comes from another version, or from other models, settings or data.

        Args:
            definitions: of the study's cells by key; rows of other cells are left alone.

        Raises:
            UsageError: a row was measured otherwise; the difference is shown.
        """
        for key, definition in definitions.items():
            row = self._rows.get(key)
            # A failed cell has no figures that could be mixed, and is run again anyway, perhaps mended.
            if row is None or not self.is_done(key) or row["fingerprint"] == fingerprint_of(dict(definition)):
                continue
            changed = "; ".join(differences(row.get("definition", {}), definition)) or "its fingerprint"
            raise UsageError(
                f"{self.path} holds results that were measured otherwise (cell {key}: {changed}): to start anew, give "
                f"another --out, or move {self.path.parent} away; to go on, bring back what was changed."
            )

    def append(self, row: Row) -> None:
        """Adds a row; when this returns, it is on the disk.

        Raises:
            ArchiveError: the disk refuses.
        """
        line = json.dumps(row, ensure_ascii=False, allow_nan=False).encode() + b"\n"
        try:
            self._cut_torn_line()
            with self.path.open("ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise ArchiveError(
                f"{self.path} cannot be written ({error.strerror}): see the disk, and repeat the command; the cells "
                "before this one are kept."
            ) from error
        self._rows[row["cell"]] = row

    def _whole_lines(self) -> list[bytes]:
        """Without the last line where a kill cut it short; an editor may have left out its end only."""
        try:
            *lines, last = self.path.read_bytes().split(b"\n")
            return [*lines, last] if _is_whole(last) else lines
        except FileNotFoundError:
            return []
        except OSError as error:
            raise UsageError(f"{self.path} cannot be read ({error.strerror}): give another --out.") from error

    def _cut_torn_line(self) -> None:
        if not self.path.exists():
            return
        with self.path.open("r+b") as file:
            content = file.read()
            whole = content.rfind(b"\n") + 1
            if _is_whole(content[whole:]):
                file.write(b"\n")
            elif whole < len(content):
                file.truncate(whole)

    def _parsed(self, line: bytes, number: int) -> Row:
        try:
            row = json.loads(line)
            if isinstance(row, dict) and {"cell", "fingerprint", "status"} <= row.keys():
                return row
        except ValueError:
            pass
        raise UsageError(
            f"{self.path}, line {number}, is damaged: remove that line (its cell is run again), or give another --out."
        )


def _is_whole(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False
