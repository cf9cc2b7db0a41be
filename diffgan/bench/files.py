"""The files of a bench's results: a table for programs, one for readers, a page for a browser."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diffgan.bench.markdown import as_markdown
from diffgan.bench.page import as_page
from diffgan.bench.rows import Row
from diffgan.bench.tables import Results
from diffgan.drafts import replacing
from diffgan.errors import UsageError

WRITERS: dict[str, Callable[[Results], str]] = {
    "results.csv": lambda results: as_csv(results),
    "results.md": as_markdown,
    "results.html": as_page,
}

_FIRST = ("pair", "generator", "strategy", "seed", "status", "error")
_PLAIN = (
    "triggers",
    "unique",
    "valid",
    "share_valid",
    "share_valid_low",
    "share_valid_high",
    "dv",
    "cells",
    "largest_cell_share",
    "exactly_one_right",
    "valid_only_a_right",
    "valid_only_b_right",
    "valid_both_wrong",
    "evaluations",
    "queries",
    "queries_a",
    "queries_b",
    "seconds",
    "images_per_second",
    "preparation_seconds",
    "judging_seconds",
    "wall_seconds",
    "finished",
    "fingerprint",
)


def write_results(results: Results, out: Path) -> list[Path]:
    """Replaces the files in the bench's folder.

    Raises:
        UsageError: one cannot be written.
    """
    written = []
    for name, write in WRITERS.items():
        path = out / name
        try:
            with replacing(path) as draft:
                draft.write_text(write(results), encoding="utf-8")
        except OSError as error:
            raise UsageError(
                f"{path} cannot be written ({error.strerror}): see the disk; the rows are safe."
            ) from error
        written.append(path)
    return written


def as_csv(results: Results) -> str:
    """One line a cell."""
    study = results.benched.study
    marked = {
        f"{figure}_at_{_plain(mark)}_{by}": (f"{figure}_at_{by}", place)
        for figure in ("dv", "unique")
        for by, marks in (("seconds", study.marks.seconds), ("queries", study.marks.queries))
        for place, mark in enumerate(marks)
    }
    metrics = study.diversity.metrics if study.diversity else ()
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_FIRST, *_PLAIN[:-2], *marked, *metrics, "initial_unique", *_PLAIN[-2:]])
    for row in results.benched.rows:
        at = [_at(row, key, place) for key, place in marked.values()]
        diverse = [row.get("diversity", {}).get(name) for name in metrics]
        plain = [row.get(name) for name in _PLAIN]
        first = [row.get(name) for name in _FIRST]
        writer.writerow([*first, *plain[:-2], *at, *diverse, row["initial"]["unique"], *plain[-2:]])
    return text.getvalue()


def _plain(mark: float) -> str:
    """All of its digits, without a point where there is nothing behind it."""
    return str(int(mark)) if mark == int(mark) else repr(mark)


def _at(row: Row, key: str, place: int) -> Any:
    values = row.get(key)
    return None if values is None else values[place]
