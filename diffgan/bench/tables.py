"""Rows laid side by side: for each pair and generator, how the strategies stand, and which is ahead of which."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from diffgan.bench.comparing import Against, compared
from diffgan.bench.rows import Row
from diffgan.bench.running import Benched
from diffgan.bench.study import Study
from diffgan.stats import Interval, bootstrap_interval, coefficient_of_variation

#: Figures of a row of which the median over seeds is told.
FIGURES = (
    "dv",
    "unique",
    "triggers",
    "valid",
    "share_valid",
    "cells",
    "largest_cell_share",
    "exactly_one_right",
    "images_per_second",
    "evaluations",
)

_PER = 1000


@dataclass(frozen=True)
class Standing:
    """How one strategy does on one pair and generator.

    Attributes:
        strategy: its name in the study.
        runs: how many seeds are over.
        figures: the median over seeds of each figure, with its bootstrap interval; None where no run has it.
        at_seconds, at_queries: the same for DV (or unique triggers, without a judge) at each mark; None where a run
            ended before it.
        unique_at_seconds: unique triggers at the marks of time: median, least and most; None where a run ended before.
        improvement: (unique - initial) / initial at the end, as the paper has it, of the median; None without an
            initial trigger.
        variation: the standard deviation of unique by its mean; None for a single run.
        right_per_1000: of 1,000 valid triggers of all runs, how many only A has right, only B, and neither.
        diversity: the median over seeds of each diversity.
    """

    strategy: str
    runs: int
    figures: dict[str, Interval | None]
    at_seconds: list[Interval | None]
    at_queries: list[Interval | None]
    unique_at_seconds: list[tuple[float, int, int] | None]
    improvement: float | None
    variation: float | None
    right_per_1000: tuple[float, float, float] | None
    diversity: dict[str, Interval | None]


@dataclass(frozen=True)
class Block:
    """All of one pair and generator; strategies that need no generator stand in each of the pair's blocks."""

    pair: str
    generator: str | None
    initial: dict[str, Any]
    standings: list[Standing]
    comparisons: list[Against]


@dataclass(frozen=True)
class Results:
    """What the files of a bench show.

    Attributes:
        benched: the rows.
        headline: `dv`, or `unique` where nobody judges.
        blocks: by pair and generator.
    """

    benched: Benched
    headline: str
    blocks: list[Block]

    def as_json(self) -> dict[str, Any]:
        """For `--json`."""
        made = self.benched
        return {
            "study": made.study.name,
            "cells": made.cells,
            "done": len(made.done),
            "failed": [{"cell": row["cell"], "error": row["error"]} for row in made.failed],
            "interrupted": made.interrupted,
            "headline": self.headline,
            "marks": made.study.marks.model_dump(mode="json"),
            "results": [asdict(block) for block in self.blocks],
        }


def results_of(benched: Benched) -> Results:
    """Tables of what is there so far."""
    study = benched.study
    headline = "dv" if study.judge is not None else "unique"
    parts = [(pair, generator) for pair in study.pairs for generator in study.generators or [None]]
    grouped = [(pair, generator, rows_by_strategy(benched, pair, generator)) for pair, generator in parts]
    families = compared(study, [rows for _, _, rows in grouped], headline)
    blocks = [
        Block(
            pair=pair,
            generator=generator,
            initial=benched.initial.get(pair, {}),
            standings=[_standing(name, rows, study, headline) for name, rows in its.items() if rows],
            comparisons=comparisons,
        )
        for (pair, generator, its), comparisons in zip(grouped, families, strict=True)
    ]
    return Results(benched, headline, [block for block in blocks if block.standings])


def rows_by_strategy(benched: Benched, pair: str, generator: str | None) -> dict[str, list[Row]]:
    """The finished rows of each strategy, in the order of the seeds."""
    return {
        strategy: [
            row
            for row in benched.done
            if (row["pair"], row["strategy"]) == (pair, strategy) and row["generator"] in (None, generator)
        ]
        for strategy in benched.study.strategies
    }


def _standing(strategy: str, rows: Sequence[Row], study: Study, headline: str) -> Standing:
    unique = np.array([row["unique"] for row in rows], dtype=np.float64)
    initial = rows[0]["initial"]["unique"]
    metrics = study.diversity.metrics if study.diversity else ()
    return Standing(
        strategy=strategy,
        runs=len(rows),
        figures={name: _median([row.get(name) for row in rows]) for name in FIGURES},
        at_seconds=_medians_at([row[f"{headline}_at_seconds"] for row in rows]),
        at_queries=_medians_at([row[f"{headline}_at_queries"] for row in rows]),
        unique_at_seconds=_ranges_at([row["unique_at_seconds"] for row in rows]),
        improvement=improvement_of(float(np.median(unique)), initial),
        variation=coefficient_of_variation(unique) if len(unique) > 1 and unique.any() else None,
        right_per_1000=_right_per_1000(rows),
        diversity={name: _median([row["diversity"].get(name) for row in rows]) for name in metrics},
    )


def improvement_of(found: float, initial: int) -> float | None:
    """How many times more than without a search.

    Example:
        >>> improvement_of(328, 82)
        3.0
    """
    return (found - initial) / initial if initial else None


def _ranges_at(values: Sequence[Sequence[int | None]]) -> list[tuple[float, int, int] | None]:
    ranges: list[tuple[float, int, int] | None] = []
    for at in zip(*values, strict=True):
        known = [value for value in at if value is not None]
        whole = len(known) == len(at)
        ranges.append((float(np.median(known)), min(known), max(known)) if whole else None)
    return ranges


def _medians_at(values: Sequence[Sequence[float | None]]) -> list[Interval | None]:
    return [None if None in at else _median(at) for at in zip(*values, strict=True)]


def _median(values: Sequence[float | None]) -> Interval | None:
    known = [value for value in values if value is not None]
    return bootstrap_interval(known, rng=np.random.default_rng(0)) if known else None


def _right_per_1000(rows: Sequence[Row]) -> tuple[float, float, float] | None:
    names = ("valid_only_a_right", "valid_only_b_right", "valid_both_wrong")
    counts = [sum(row.get(name, 0) for row in rows) for name in names]
    total = sum(counts)
    if not total:
        return None
    only_a, only_b, neither = (round(_PER * count / total, 1) for count in counts)
    return only_a, only_b, neither
