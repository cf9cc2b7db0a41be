"""Two runs side by side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.filters.validity import shown
from diffgan.report.charts import Chart, growth
from diffgan.report.labelled import Labelled, labelled_of
from diffgan.report.measured import Measured, measure
from diffgan.report.run import Run, section
from diffgan.report.verdict import asked, with_interval

_MOST_KINDS = 20


@dataclass(frozen=True, eq=False)
class Beside:
    """Two runs side by side.

    Attributes:
        names: of the folders.
        facts: a name and a text for each run; whether they differ.
        shared: triggers that both have, by id; None where the images differ in size.
        kinds: labels of A and B, the first run's count and the second's, the greatest difference first; empty where
            the classes differ.
        charts: of both runs.
        warnings: why the runs cannot be held against each other.
    """

    names: tuple[str, str]
    facts: list[tuple[str, str, str, bool]]
    shared: int | None
    kinds: list[tuple[str, str, int, int]]
    charts: list[Chart]
    warnings: list[str]


def beside_of(run: Run, other: Run, measured: Measured, labelled: Labelled | str) -> Beside:
    """What the two have come to."""
    same = _tested(run) is not None and _tested(run) == _tested(other)
    # Rates from the prior are of the generator, too.
    is_measured = same and _fingerprint(run, "generator") == _fingerprint(other, "generator") is not None
    there = measured if is_measured else measure(other)
    ours = _facts(run, measured, labelled)
    theirs = _facts(other, there, labelled_of(other))
    warnings = []
    if not same:
        warnings.append("The runs are of other models or other data, so their counts answer different questions.")
    if run.is_filtered != other.is_filtered:
        warnings.append("Only one of the runs is filtered: compare what was found, not what was kept.")
    return Beside(
        names=(run.name, other.name) if run.name != other.name else (str(run.path), str(other.path)),
        facts=[(name, ours[name], theirs[name], ours[name] != theirs[name]) for name in ours],
        shared=len(np.intersect1d(run.columns["ids"], other.columns["ids"])) if run.spec == other.spec else None,
        kinds=_kinds(run, other) if run.class_names == other.class_names else [],
        charts=_charts(run, other),
        warnings=warnings,
    )


def _tested(run: Run) -> tuple[object, ...] | None:
    """The fingerprints of models and data; None where one is not known."""
    models = section(run.config, "models")
    found = (
        *(section(models, place).get("fingerprint") for place in "ab"),
        _fingerprint(run, "data"),
    )
    return None if None in found else found


def _fingerprint(run: Run, name: str) -> object:
    return section(run.config, name).get("fingerprint")


def _facts(run: Run, measured: Measured, labelled: Labelled | str) -> dict[str, str]:
    summary, queries = run.summary, section(run.summary, "queries")
    on_data, prior = measured.on_data, measured.on_prior

    def number(value: object) -> str:
        return f"{value:,}" if isinstance(value, (int, float)) else "not known"

    return {
        "model A": run.model_names[0],
        "model B": run.model_names[1],
        "data": run.data_name,
        "disagree on the data": "not measured" if isinstance(on_data, str) else with_interval(on_data.rate.share),
        "disagree on the prior's images": "not measured"
        if isinstance(prior, str)
        else f"{with_interval(prior.share)}, {asked(prior)}",
        "generator": str(section(run.config, "generator").get("name") or "not known"),
        "strategy": str(section(run.config, "strategy").get("name") or "not known"),
        "seed": str(run.config.get("seed", "not known")),
        "seconds of search": number(summary.get("seconds")),
        "evaluations": number(summary.get("evaluations")),
        "queries to A": number(queries.get("a")),
        "queries to B": number(queries.get("b")),
        "unique triggers": f"{len(run):,}",
        "kept": f"{int(run.kept.sum()):,}" if run.is_filtered else "not filtered",
        "kinds of disagreement": number(_kind_count(run)) if run.has_labels else "no classes",
        "valid, by labels": _valid(labelled),
    }


def _valid(labelled: Labelled | str) -> str:
    if isinstance(labelled, str):
        return "no labels"
    ratio = labelled.validity
    if ratio.doubts:
        return f"{ratio.valid:,} of {ratio.labelled:,} labelled, no random sample"
    return shown(ratio.share)


def _kind_count(run: Run) -> int:
    return len(set(zip(run.columns["label_a"].tolist(), run.columns["label_b"].tolist(), strict=True)))


def _kinds(run: Run, other: Run) -> list[tuple[str, str, int, int]]:
    both = run.is_filtered and other.is_filtered
    counts: dict[tuple[int, int], list[int]] = {}
    for side, one in enumerate((run, other)):
        if not one.has_labels:
            continue
        rows = np.flatnonzero(one.kept) if both else np.arange(len(one))
        pairs = np.stack([one.columns["label_a"][rows], one.columns["label_b"][rows]], axis=1)
        kinds, found = np.unique(pairs, axis=0, return_counts=True)
        for (a, b), count in zip(kinds.tolist(), found.tolist(), strict=True):
            counts.setdefault((a, b), [0, 0])[side] = count
    ordered = sorted(counts.items(), key=lambda item: (-abs(item[1][0] - item[1][1]), item[0]))
    return [(run.class_name(a), run.class_name(b), first, second) for (a, b), (first, second) in ordered[:_MOST_KINDS]]


def _charts(run: Run, other: Run) -> list[Chart]:
    runs = ((run, "first"), (other, "second"))
    names = [run.name, other.name] if run.name != other.name else ["the first", "the second"]

    def series(name: str) -> list[tuple[str, str, NDArray[np.float64]]]:
        return [(title, kind, np.sort(_spent(one, name))) for (one, kind), title in zip(runs, names, strict=True)]

    return [
        growth("Different triggers over time", "seconds of search", series("seconds")),
        growth("Different triggers over queries", "queries to both models", series("queries")),
    ]


def _spent(run: Run, name: str) -> NDArray[np.float64]:
    if name == "queries":
        return np.asarray(run.columns["queries_a"] + run.columns["queries_b"], dtype=np.float64)
    return np.asarray(run.columns[name], dtype=np.float64)
