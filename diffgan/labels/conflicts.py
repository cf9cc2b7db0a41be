"""The triggers whose labels conflict, as a list to decide and to give back."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from diffgan.archive import Archive, LabelColumns
from diffgan.archive.publish import published
from diffgan.images import hex_id
from diffgan.labels.consensus import DECIDED, consensus, is_machine
from diffgan.labels.tables import HEADER, SAID_BY, id_cell
from diffgan.labels.texts import ClassTexts, to_cell


@dataclass(frozen=True)
class Conflict:
    """A trigger on which no label has more than half of the voices that count.

    Attributes:
        id: of the trigger.
        labels: the class, or None for an image that shows none, by annotator; of all of them.
        by_machine: whether judges alone have labelled it.
    """

    id: int
    labels: dict[str, int | None]
    by_machine: bool


def conflicts(archive: Archive) -> list[Conflict]:
    """The triggers to decide, in order of discovery; those of people first.

    Raises:
        ArchiveError: the file cannot be read.
    """
    labels = archive.labels.read()
    said = consensus(labels)
    open_ones = np.flatnonzero(~said.settled)
    by_trigger = _by_trigger(labels, said.ids[open_ones].tolist())
    listed = [
        Conflict(number, by_trigger[number], bool(said.by_machine[place]))
        for number, place in zip(said.ids[open_ones].tolist(), open_ones.tolist(), strict=True)
    ]
    return sorted(listed, key=lambda one: one.by_machine)


def write_conflicts(archive: Archive, listed: list[Conflict], path: Path) -> None:
    """Writes a table to a file that does not exist yet: fill in its column label, and import it.

    It has a row for each conflict, by the annotator who decides, and what each annotator said.

    Raises:
        ArchiveError: the file exists, or the disk refuses.
    """
    texts = ClassTexts.of(archive)
    annotators = sorted({name for one in listed for name in one.labels}, key=lambda name: (is_machine(name), name))
    with published(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow([*HEADER, *(f"{SAID_BY}{name}" for name in annotators)])
        for one in listed:
            said = [to_cell(texts.write(one.labels[name])) if name in one.labels else "" for name in annotators]
            table.writerow([id_cell(hex_id(one.id)), "", DECIDED, *said])


def _by_trigger(labels: LabelColumns, wanted: list[int]) -> dict[int, dict[str, int | None]]:
    found: dict[int, dict[str, int | None]] = {number: {} for number in wanted}
    for number, annotator, label in zip(labels.ids.tolist(), labels.annotators, labels.classes, strict=True):
        if number in found:
            found[number][annotator] = label
    return found
