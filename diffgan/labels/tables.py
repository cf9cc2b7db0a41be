"""A table of labels, as it stands in a file: `id,label,annotator`, a row for each label.

A list of conflicts (`diffgan.labels.conflicts`) is such a table, too, with a column `label by NAME` for what each
annotator said: those are passed over, and so are its rows without a label, which nobody has decided yet.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from diffgan.errors import DataError, UsageError
from diffgan.images import id_from_hex
from diffgan.labels.texts import from_cell

HEADER = ("id", "label", "annotator")

SAID_BY = "label by "
"""How the columns of a list of conflicts begin that say what an annotator said."""

_REQUIRED = HEADER[:2]
_SPREADSHEET_NUMBER = re.compile(r"[0-9]{1,15}|[0-9]+([.,][0-9]+)?[eE][+-]?[0-9]+|[0-9]+[.,][0-9]+")


@dataclass(frozen=True)
class Row:
    """One label, as written.

    Attributes:
        place: where it stands: the file, the line, and what else leads there.
        id: of the trigger.
        label: a class's name or number, or `invalid`.
        annotator: who says so.
        replaces: whether it takes the place of another label by the same annotator in the archive.
        at: when it was said, as text that sorts; empty: not known.
    """

    place: str
    id: int
    label: str
    annotator: str
    replaces: bool = True
    at: str = ""


@dataclass(frozen=True)
class Table:
    """The labels of a file.

    Attributes:
        rows: in the file's order, or where it says when each was said, in that of time.
        passed_over: how many of what else it holds, by what that is.
    """

    rows: list[Row]
    passed_over: Mapping[str, int] = field(default_factory=dict)


def read_table(path: Path, *, annotator: str | None = None) -> Table:
    """The rows of a file, in UTF-8, with commas or semicolons.

    Args:
        path: of the file.
        annotator: who says so, for a file without that column.

    Raises:
        DataError: the file cannot be read, or is no such table; the message names the line.
        UsageError: nobody says who the annotator is, or both the file and the call do.
    """
    text = _decoded(path)
    with_commas = _header(text, ",")
    separator = "," if set(_REQUIRED) <= set(with_commas) else ";"
    columns = with_commas if separator == "," else _header(text, separator)
    _check_columns(path, columns if set(_REQUIRED) <= set(columns) else with_commas)
    _check_annotator(path, columns, annotator)
    rows = list(_rows(path, text, separator, columns, annotator))
    undecided = sum(not row.label for row in rows)
    return Table([row for row in rows if row.label], {"conflicts without a decision": undecided} if undecided else {})


def id_cell(digits: str) -> str:
    """An id for a spreadsheet, which would take some for numbers: those get an apostrophe, and an import takes it away.

    Example:
        >>> id_cell("41f0c3a95d7be802"), id_cell("12345678901234e5")
        ('41f0c3a95d7be802', "'12345678901234e5")
    """
    return f"'{digits}" if re.fullmatch(r"[0-9]+(e[0-9]+)?", digits) else digits


def _decoded(path: Path) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): give a CSV file with {','.join(HEADER)}.") from None
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise DataError(f"{path}, line {line}: this is no UTF-8; save the table as CSV in UTF-8.") from None


def _header(text: str, separator: str) -> list[str]:
    try:
        cells = next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:
        return []
    return _without_empty_end([cell.strip().lower() for cell in cells], 0)


def _check_columns(path: Path, columns: list[str]) -> None:
    missing = [name for name in _REQUIRED if name not in columns]
    other = [name for name in columns if name not in HEADER and not name.startswith(SAID_BY)]
    twice = [name for name in HEADER if columns.count(name) > 1]
    if missing or other or twice:
        given = ", ".join(repr(name) for name in columns[:6]) or "nothing"
        raise DataError(
            f"{path}, line 1: the columns are {given}; expected {', '.join(HEADER)} (the last may be missing where "
            "--annotator is given): correct the first line."
        )


def _check_annotator(path: Path, columns: list[str], annotator: str | None) -> None:
    if "annotator" in columns and annotator is not None:
        raise UsageError(f"{path} has a column annotator, so --annotator {annotator} cannot stand for all its rows.")
    if "annotator" not in columns and not (annotator or "").strip():
        raise UsageError(f"{path} has no column annotator: say who labelled, with --annotator NAME.")


def _rows(path: Path, text: str, separator: str, columns: list[str], annotator: str | None) -> Iterator[Row]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        next(reader)
        for cells in reader:
            if any(cell.strip() for cell in cells):
                yield _row(f"{path}, line {reader.line_num}", cells, columns, annotator)
    except csv.Error as error:
        raise DataError(f"{path}, line {reader.line_num}: this is no CSV ({error}): correct the quotes.") from None


def _row(where: str, cells: list[str], columns: list[str], annotator: str | None) -> Row:
    cells = _without_empty_end(cells, len(columns))
    if len(cells) != len(columns):
        raise DataError(f"{where} has {len(cells)} cells; expected {len(columns)}: {', '.join(columns)}.")
    values = dict(zip(columns, (from_cell(cell) for cell in cells), strict=True))
    who = values.get("annotator", (annotator or "").strip())
    if not who:
        raise DataError(f"{where} names no annotator: say who labelled, in every row.")
    if not values["label"] and not any(name.startswith(SAID_BY) for name in columns):
        raise DataError(f"{where} has no label: leave the row out, or write a class, or invalid.")
    return Row(where, _id(where, values["id"].removeprefix("'")), values["label"], who)


def _id(where: str, text: str) -> int:
    try:
        return id_from_hex(text)
    except DataError as error:
        if _SPREADSHEET_NUMBER.fullmatch(text):
            raise DataError(
                f"{where}: the id {text!r} is not 16 hex digits; a spreadsheet has taken it for a number: import the "
                "column id as text."
            ) from None
        raise DataError(f"{where}: {error}") from None


def _without_empty_end(cells: list[str], least: int) -> list[str]:
    """Spreadsheets pad rows with empty cells."""
    while len(cells) > least and not cells[-1].strip():
        cells = cells[:-1]
    return cells
