"""What a run has come to, in one place: `summary.json`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diffgan.archive import Archive
from diffgan.datasets import Dataset
from diffgan.models.classifier import Classifier
from diffgan.search.loop import Search
from diffgan.search.strategies.protocol import Strategy

#: The parts that a run's time is told by, beside `other`.
TIME_PARTS = ("generator", "screen", "models", "diversity", "selection", "archive")

Summary = dict[str, Any]


def summarise(
    search: Search,
    strategy: Strategy,
    archive: Archive,
    models: tuple[Classifier, Classifier],
    dataset: Dataset,
    *,
    seed: int,
) -> Summary:
    """What a run has come to, as its `summary.json` holds it."""
    spent = search.spent
    names = dataset.classes
    return {
        "models": {place: model.name for place, model in zip("ab", models, strict=True)},
        "data": dataset.name,
        "strategy": strategy.name,
        "seed": seed,
        "seconds": round(spent.seconds, 3),
        "evaluations": spent.evaluations,
        "queries": {"a": spent.queries_a, "b": spent.queries_b},
        "triggers": spent.triggers,
        "unique": spent.unique,
        "kept": archive.count(kept_only=True),
        "evaluations_per_second": round(spent.evaluations / spent.seconds, 1) if spent.seconds else 0.0,
        "time_share": {
            name: round(share, 4) for name, share in search.stopwatch.shares(search.clock.sitting, TIME_PARTS).items()
        },
        "disagreement": _named(search.disagreement, names),
        "search": dict(strategy.facts()),
    }


def _named(cells: Mapping[tuple[int, int], int], names: tuple[str, ...]) -> dict[str, dict[str, int]]:
    """Label of A, then label of B, then the count; by class names, or by number where the data has no such class."""
    nested: dict[str, dict[str, int]] = {}
    for (label_a, label_b), count in sorted(cells.items()):
        row, column = (names[label] if label < len(names) else str(label) for label in (label_a, label_b))
        columns = nested.setdefault(row, {})
        columns[column] = columns.get(column, 0) + count  # a number may be another class's name
    return nested
