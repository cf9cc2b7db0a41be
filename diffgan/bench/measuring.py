"""The figures of one cell, from its run's folder: no image, no path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.bench.judging import Judged, judge_archive
from diffgan.bench.metrics import diversities
from diffgan.bench.opening import Opened
from diffgan.bench.rows import Row
from diffgan.pipeline import Comparison
from diffgan.stats import wilson_interval

#: Points of a stored curve, beside the marks, which are exact.
CURVE_POINTS = 200


def figures_of(made: Comparison, opened: Opened, *, seed: int) -> Row:
    """What a run came to, by the study's judge and at its marks."""
    study, summary = opened.study, made.summary
    queries = int(summary["queries"]["a"] + summary["queries"]["b"])
    seconds = known_until(summary, study.budget.seconds)
    marks = study.marks
    with made.archive() as archive:
        found_at = archive.column("seconds")
        asked_at = archive.column("queries_a") + archive.column("queries_b")
        row: Row = {
            "triggers": summary["triggers"],
            "unique": summary["unique"],
            "evaluations": summary["evaluations"],
            "queries": queries,
            "queries_a": summary["queries"]["a"],
            "queries_b": summary["queries"]["b"],
            "seconds": float(summary["seconds"]),
            "images_per_second": summary["evaluations_per_second"],
            "preparation_seconds": summary["preparation_seconds"],
            "time_share": summary["time_share"],
            "unique_at_seconds": counts_at(found_at, marks.seconds, end=seconds),
            "unique_at_queries": counts_at(asked_at, marks.queries, end=queries),
            "unique_curve": curve_of(found_at, asked_at),
        }
        if opened.judge is not None:
            judged = judge_archive(opened.judge, archive, found=summary["triggers"])
            row |= judged_figures(judged, opened, seconds=seconds, queries=queries)
        row["diversity"] = _diversities(archive, opened, seed)
    return row


def judged_figures(judged: Judged, opened: Opened, *, seconds: float, queries: int) -> Row:
    """What the judge makes of it."""
    marks, measured, figures = opened.study.marks, judged.measured, judged.measured.yardstick
    only_a, only_b, neither = judged.who_is_right()
    share = wilson_interval(figures.valid, figures.unique) if figures.unique else None
    counted = measured.counted
    return {
        "valid": figures.valid,
        "share_valid": figures.share_valid,
        "share_valid_low": None if share is None else share.low,
        "share_valid_high": None if share is None else share.high,
        "dv": figures.dv,
        "cells": figures.cells,
        "largest_cell_share": figures.largest_cell_share,
        "exactly_one_right": figures.exactly_one_right,
        "valid_only_a_right": only_a,
        "valid_only_b_right": only_b,
        "valid_both_wrong": neither,
        "dv_at_seconds": counts_at(judged.seconds[counted], marks.seconds, end=seconds),
        "dv_at_queries": counts_at(judged.queries[counted], marks.queries, end=queries),
        "dv_curve": curve_of(judged.seconds[counted], judged.queries[counted]),
    }


def known_until(summary: Mapping[str, Any], limit: float | None) -> float:
    """Up to when it is known what a search found: one that its time ended finds nothing more in it, even where a remote
    model's last answers would have come too late.

    Example:
        >>> known_until({"seconds": 28.5, "ended_by": "seconds"}, 30)
        30.0
        >>> known_until({"seconds": 28.5, "ended_by": "evaluations"}, 30)
        28.5
    """
    over = limit if limit is not None and summary["ended_by"] == "seconds" else 0.0
    return float(max(summary["seconds"], over))


def counts_at(found: NDArray[Any], marks: Sequence[float], *, end: float) -> list[int | None]:
    """How many had been found by each mark; None beyond the end, since nobody knows.

    Example:
        >>> counts_at(np.array([1.0, 2.0, 2.0]), [1, 2, 9], end=5)
        [1, 3, None]
    """
    reached = np.searchsorted(found, np.asarray(marks, dtype=np.float64), side="right").tolist()
    return [None if mark > end else count for mark, count in zip(marks, reached, strict=True)]


def curve_of(seconds: NDArray[Any], queries: NDArray[Any]) -> dict[str, list[float]]:
    """A rising count as a few points: when it had come to `count`, in seconds and in queries.

    Example:
        >>> curve_of(np.array([0.5, 1.0]), np.array([10, 20]))
        {'count': [1, 2], 'seconds': [0.5, 1.0], 'queries': [10, 20]}
    """
    places = np.unique(np.linspace(0, len(seconds) - 1, min(CURVE_POINTS, len(seconds))).round().astype(np.int64))
    return {
        "count": (places + 1).tolist(),
        "seconds": seconds[places].round(3).tolist(),
        "queries": queries[places].tolist(),
    }


def _diversities(archive: Archive, opened: Opened, seed: int) -> dict[str, float]:
    plan = opened.study.diversity
    if plan is None:
        return {}
    return diversities(archive, plan, opened.extractor, seed=seed)
