"""The parts of a report that are drawn or listed as they are found."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from diffgan.errors import DiffganError
from diffgan.generators.card import Card, read_card
from diffgan.report.cells import Matrix
from diffgan.report.charts import Chart, growth, scatter
from diffgan.report.exhibits import Exhibits
from diffgan.report.landscape import Landscape
from diffgan.report.run import Run, section


def gallery_of(run: Run, matrix: Matrix | str, exhibits: Exhibits) -> dict[str, Any]:
    """What the page's script needs."""
    names = sorted({number for item in exhibits.items for number in (item.a, item.b, item.label) if number >= 0})
    known = [] if isinstance(matrix, str) or matrix.grid is not None else matrix.known
    names = sorted({*names, *(cell.a for cell in known), *(cell.b for cell in known)})
    sheet = exhibits.sheet
    size = None
    if sheet is not None:
        size = [sheet.columns, sheet.step_x, sheet.step_y, sheet.thumb_width, sheet.thumb_height, sheet.count]
    return {
        "items": [item.compact() for item in exhibits.items],
        "first": exhibits.first,
        "sheet": size,
        "names": {str(number): run.class_name(number) for number in names},
        "cells": [[cell.a, cell.b, cell.kept, cell.found] for cell in known],
        "filtered": run.is_filtered,
    }


def dots_of(landscape: Landscape | None, exhibits: Exhibits) -> list[tuple[float, float, int, int]]:
    """The map: x, y, cluster and item, those in no cluster first, so that the others lie above them."""
    if landscape is None or landscape.points is None:
        return []
    placed = (16 + landscape.points * np.array([608.0, 428.0])).round(1)
    order = np.argsort(landscape.cluster, kind="stable")
    return [
        (float(placed[i, 0]), float(placed[i, 1]), int(landscape.cluster[i]), exhibits.by_sample[i])
        for i in order.tolist()
    ]


def front_of(landscape: Landscape | None, exhibits: Exhibits) -> tuple[Chart, list[tuple[int, float, float]]] | None:
    """The chart, and the items in front with divergence and diversity."""
    if landscape is None or len(landscape.rows) < 2:
        return None
    divergence = landscape.triggers.divergence
    finite = divergence[np.isfinite(divergence)]
    shown_at = np.nan_to_num(divergence, posinf=float(finite.max(initial=0.0)))
    chart = scatter("Divergence and diversity", shown_at, landscape.diversity, landscape.front)
    ahead = [(exhibits.by_sample[i], float(divergence[i]), float(landscape.diversity[i])) for i in landscape.front[:24]]
    return chart, ahead


def charts_of(run: Run) -> list[Chart]:
    if not len(run):
        return []
    queries, spent = section(run.summary, "queries"), run.columns
    asked = (spent["queries_a"] + spent["queries_b"]).astype(np.float64)
    ends = (
        ("Over time", "seconds of search", spent["seconds"], run.summary.get("seconds")),
        ("Over queries", "queries to both models", asked, sum(n for n in queries.values() if isinstance(n, int))),
        ("Over evaluations", "images shown to both", spent["evaluation"], run.summary.get("evaluations")),
    )
    made = []
    for title, axis, values, end in ends:
        series = [("unique triggers", "found", np.sort(values.astype(np.float64)))]
        if run.is_filtered:
            series.append(("kept by the filters", "kept", np.sort(values[run.kept].astype(np.float64))))
        made.append(growth(title, axis, series, float(end) if isinstance(end, (int, float)) else 0.0))
    return made


def filters_of(run: Run) -> list[dict[str, Any]]:
    """What each filter dropped, in their order where the summary tells it."""
    told = section(run.summary, "filters")
    names = [*(name for name in told if name in run.verdicts), *(name for name in run.verdicts if name not in told)]
    return [
        {
            "name": name,
            "threshold": section(told, name).get("threshold"),
            "passed": run.verdicts[name][0],
            "dropped": run.verdicts[name][1],
            "before": sum(run.verdicts[name]),
        }
        for name in names
    ]


def generator_of(run: Run) -> Card | str:
    described = section(run.config, "generator")
    if not described and "generator" in run.config:
        return "There is none: the search mutated real images."
    source = Path(str(described.get("source") or "unknown"))
    if source.is_file():
        return f"{source.name} is a foreign generator: it has no card that says how it was trained or how good it is."
    try:
        return read_card(source)
    except DiffganError as error:
        return str(error)


def time_shares_of(run: Run) -> list[tuple[str, float]]:
    shares = section(run.summary, "time_share")
    return [(name, float(share)) for name, share in shares.items() if isinstance(share, (int, float))]
