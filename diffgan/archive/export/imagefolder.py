"""A folder per disagreement, a PNG per trigger, and a table of all that is known of them."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffgan.archive.export.names import safe_names, shown_names, without_formula
from diffgan.archive.export.plan import Plan
from diffgan.archive.export.png import encode_png
from diffgan.archive.records import NO_INDEX, NO_PARENT, StoredTriggers
from diffgan.images import hex_id

Cell = str | int | float

_UNLABELLED = "triggers"
_HEADER = (
    "file", "id", "label_a", "label_b", "name_a", "name_b", "divergence", "evaluation", "generation", "seconds",
    "queries_a", "queries_b", "class", "seed_index", "parent", "kept",
)  # fmt: skip


@dataclass(frozen=True)
class _Names:
    safe: tuple[str, ...]
    shown: tuple[str, ...]

    def folder(self, a: int, b: int) -> str:
        return _UNLABELLED if NO_INDEX in (a, b) else f"{self.safe[a]}-as-{self.safe[b]}"

    def cell(self, label: int) -> str:
        return "" if label == NO_INDEX else without_formula(self.shown[label])


def write_imagefolder(plan: Plan, draft: Path) -> None:
    """Writes the folder `draft`: `<A's name>-as-<B's name>/<id>_<a>_<b>.png`, and `triggers.csv`.

    Filters and annotators, as far as there are any, have columns of their own in the table.
    """
    draft.mkdir()
    names = _names(plan)
    for a, b in plan.archive.disagreement(kept_only=plan.kept_only):
        (draft / names.folder(_index(a), _index(b))).mkdir(exist_ok=True)
    filters, annotators = list(plan.archive.verdicts.counts()), list(plan.archive.labels.counts())
    done = 0
    with (draft / "triggers.csv").open("w", newline="", encoding="utf-8", errors="backslashreplace") as file:
        table = csv.writer(file)
        table.writerow([*_HEADER, *_opinion_header(filters, annotators)])
        for batch in plan.archive.batches(kept_only=plan.kept_only):
            opinions = _opinions(plan, batch, filters, annotators)
            for row in range(len(batch)):
                name = _file_name(batch, row, names)
                (draft / name).write_bytes(encode_png(batch.images[row]))
                table.writerow([name, *_facts(batch, row, names), *next(opinions)])
            done += len(batch)
            plan.report(done, plan.rows)


def _names(plan: Plan) -> _Names:
    labels = [label for pair in plan.archive.disagreement() for label in pair if label is not None]
    given = plan.archive.class_names
    count = max([len(given or ()), *(label + 1 for label in labels)])
    return _Names(safe_names(given, count), shown_names(given, count))


def _index(label: int | None) -> int:
    return NO_INDEX if label is None else label


def _label(column: Any, row: int) -> int:
    return NO_INDEX if column is None else int(column[row])


def _file_name(batch: StoredTriggers, row: int, names: _Names) -> str:
    a, b = _label(batch.label_a, row), _label(batch.label_b, row)
    labels = "" if NO_INDEX in (a, b) else f"_{a}_{b}"
    return f"{names.folder(a, b)}/{hex_id(batch.ids[row])}{labels}.png"


def _facts(batch: StoredTriggers, row: int, names: _Names) -> list[Cell]:
    a, b = _label(batch.label_a, row), _label(batch.label_b, row)
    parent = NO_PARENT if batch.parent is None else int(batch.parent[row])
    return [
        hex_id(batch.ids[row]),
        _known(a),
        _known(b),
        names.cell(a),
        names.cell(b),
        _number(float(batch.divergence[row])),
        int(batch.evaluation[row]),
        int(batch.generation[row]),
        _number(float(batch.seconds[row])),
        int(batch.queries_a[row]),
        int(batch.queries_b[row]),
        _known(_label(batch.classes, row)),
        _known(_label(batch.seed_index, row)),
        "" if parent == NO_PARENT else parent,
        int(batch.kept[row]),
    ]


def _opinion_header(filters: list[str], annotators: list[str]) -> list[str]:
    judged = [f"{name} {part}" for name in filters for part in ("passed", "score", "reason")]
    return [without_formula(text) for text in (*judged, *(f"label by {name}" for name in annotators))]


def _opinions(plan: Plan, batch: StoredTriggers, filters: list[str], annotators: list[str]) -> Iterator[list[Cell]]:
    """For each trigger, the cells of its verdicts and labels; an image that shows no class is `invalid`."""
    first, last = int(batch.numbers[0]), int(batch.numbers[-1])
    verdicts, labels = plan.archive.verdicts.between(first, last), plan.archive.labels.between(first, last)
    for number in batch.numbers.tolist():
        cells: list[Cell] = []
        for name in filters:
            passed, score, reason = verdicts.get(number, {}).get(name, ("", None, ""))
            cells += [passed if passed == "" else int(passed), "" if score is None else score, without_formula(reason)]
        for annotator in annotators:
            label = labels.get(number, {}).get(annotator, NO_INDEX)
            cells.append("invalid" if label is None else _known(label))
        yield cells


def _known(index: int) -> Cell:
    return "" if index == NO_INDEX else index


def _number(value: float) -> Cell:
    return "" if math.isnan(value) else value
