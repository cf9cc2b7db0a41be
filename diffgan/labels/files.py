"""Labels into an archive from a file, and out again."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path

import numpy as np

from diffgan.archive import Archive
from diffgan.archive.publish import published
from diffgan.errors import DataError, UsageError
from diffgan.images import hex_id
from diffgan.labels.annotators import check_annotator
from diffgan.labels.label_studio import read_tasks
from diffgan.labels.tables import HEADER, Row, read_table
from diffgan.labels.texts import ClassTexts, to_cell

Said = dict[tuple[str, int], int | None]


class Form(StrEnum):
    """The forms of files with labels."""

    CSV = "csv"
    LABEL_STUDIO = "label-studio"


@dataclass(frozen=True)
class Imported:
    """What came in from a file.

    Attributes:
        labels: how many the file holds, by annotator.
        new: those on triggers that their annotator had not labelled.
        changed: those that replaced another label of their annotator.
        repeated: rows that a later one on the same trigger by the same annotator made void.
        passed_over: how many of what else the file holds, by what that is.
    """

    labels: dict[str, int]
    new: int
    changed: int
    repeated: int
    passed_over: Mapping[str, int] = field(default_factory=dict)


def form_of(path: Path) -> Form:
    """The form of a file by the ending of its name: `.json` is Label Studio's."""
    return Form.LABEL_STUDIO if path.suffix.lower() == ".json" else Form.CSV


def import_labels(
    archive: Archive,
    path: Path,
    *,
    annotator: str | None = None,
    form: Form | None = None,
    rename: Mapping[str, str] | None = None,
) -> Imported:
    """Takes in the labels of a file: all, or none. Labels that the archive has already stay as they are.

    Args:
        archive: open for writing.
        path: a CSV file with id, label (a class's name or number, or `invalid`) and annotator; or Label Studio's JSON.
        annotator: who says so, for a file that does not say.
        form: of the file; by its ending by default.
        rename: other names for annotators of the file.

    Raises:
        DataError: the file is of another form, or names a trigger or a class that is not there, with the place.
        UsageError: nobody says who the annotator is, or both the file and the call do; or one to rename is not there.
        ArchiveError: the disk refuses.
    """
    read = read_tasks if (form or form_of(path)) is Form.LABEL_STUDIO else read_table
    table = read(path, annotator=annotator)
    rows = _renamed(path, table.rows, rename or {})
    _check_ids(archive, rows)
    said, before = _classes(rows, ClassTexts.of(archive)), _said(archive)
    for row in rows:
        key = (row.annotator, row.id)
        if not row.replaces and key in before:
            said[key] = before[key]
    new = {key: label for key, label in said.items() if key not in before}
    changed = {key: label for key, label in said.items() if key in before and before[key] != label}
    archive.labels.write_all(_by_annotator(new | changed))
    counts = Counter(who for who, _ in said)
    return Imported(dict(sorted(counts.items())), len(new), len(changed), len(rows) - len(said), table.passed_over)


def export_labels(archive: Archive, path: Path, *, annotator: str | None = None) -> int:
    """Writes the labels, in order of discovery, to a file that does not exist yet; returns how many.

    Args:
        archive: to read from.
        path: the file, which appears whole or not at all.
        annotator: whose labels; everybody's by default.

    Raises:
        UsageError: this annotator has labelled nothing.
        ArchiveError: the file exists, or the disk refuses.
    """
    if annotator is not None:
        check_annotator(archive, annotator)
    labels, texts = archive.labels.read(annotator), ClassTexts.of(archive)
    with published(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(HEADER)
        for number, who, label in zip(labels.ids.tolist(), labels.annotators, labels.classes, strict=True):
            table.writerow([hex_id(number), to_cell(texts.write(label)), to_cell(who)])
    return len(labels)


def _renamed(path: Path, rows: Sequence[Row], rename: Mapping[str, str]) -> Sequence[Row]:
    known = {row.annotator for row in rows}
    for name in rename:
        if name not in known:
            listed = ", ".join(sorted(known)) or "nobody"
            raise UsageError(f"{path} has no labels by {name} to rename; annotators there: {listed}.")
    return [replace(row, annotator=rename[row.annotator]) if row.annotator in rename else row for row in rows]


def _check_ids(archive: Archive, rows: Sequence[Row]) -> None:
    known = archive.contains(np.array([row.id for row in rows], dtype=np.int64))
    for row, is_there in zip(rows, known, strict=True):
        if not is_there:
            raise DataError(
                f"{row.place}: the trigger {hex_id(row.id)} is not in {archive.path}: give the run that it came from, "
                "or leave it out."
            )


def _classes(rows: Sequence[Row], texts: ClassTexts) -> Said:
    """The last row of each annotator on each trigger counts."""
    said: Said = {}
    for row in rows:
        try:
            said[row.annotator, row.id] = texts.read(row.label)
        except DataError as error:
            raise DataError(f"{row.place}: {error}") from None
    return said


def _said(archive: Archive) -> Said:
    labels = archive.labels.read()
    keys = zip(labels.annotators, labels.ids.tolist(), strict=True)
    return dict(zip(keys, labels.classes, strict=True))


def _by_annotator(said: Said) -> dict[str, dict[int, int | None]]:
    grouped: dict[str, dict[int, int | None]] = {}
    for (who, number), label in said.items():
        grouped.setdefault(who, {})[number] = label
    return grouped
