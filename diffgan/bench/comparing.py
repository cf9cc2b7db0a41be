"""Which strategy is ahead of which: Mann-Whitney with Holm's correction, and Vargha-Delaney's A12, as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from diffgan.bench.rows import Row
from diffgan.bench.study import Study
from diffgan.stats import holm, mann_whitney, vargha_delaney

LEVEL = 0.05

#: How far two strategies are told apart: at equal time, and at equal queries.
WAYS = ("seconds", "queries")


@dataclass(frozen=True)
class Against:
    """Two strategies over their seeds, at the greatest mark that all runs of both reached.

    Attributes:
        first, second: their names.
        by: `seconds` or `queries`.
        mark: where.
        median_first, median_second: of the headline there.
        runs_first, runs_second: how many seeds each has.
        p: of the two-sided Mann-Whitney test, alone.
        p_holm: corrected over all comparisons of the study.
        a12: the chance that a run of the first finds more than one of the second.
        ahead: the one that found more, where p_holm is below 0.05; else None: no difference shown.
    """

    first: str
    second: str
    by: str
    mark: float
    median_first: float
    median_second: float
    runs_first: int
    runs_second: int
    p: float
    p_holm: float
    a12: float
    ahead: str | None


def compared(study: Study, blocks: Sequence[Mapping[str, Sequence[Row]]], headline: str) -> list[list[Against]]:
    """The comparisons of each block, corrected over all of them together.

    Args:
        study: names the baseline.
        blocks: rows by strategy.
        headline: the figure that is compared.
    """
    families: list[list[Against]] = []
    seen: set[tuple[object, ...]] = set()
    for rows in blocks:
        family = []
        for (first, second), by in product(pairings(study), WAYS):
            # Two strategies without a generator are the same runs in every block of their pair.
            runs = (by, *(row["cell"] for name in (first, second) for row in rows[name]))
            against = None if runs in seen else _against(study, rows, first, second, by, headline)
            if against is not None:
                seen.add(runs)
                family.append(against)
        families.append(family)
    return _corrected(families)


def pairings(study: Study) -> list[tuple[str, str]]:
    """The first strategy against each other one, then the baseline against each other one, no pair twice."""
    names = list(study.strategies)
    reference = study.baseline if study.baseline is not None else names[0]
    first = [(names[0], other) for other in names[1:]]
    baseline = [(other, reference) for other in names if other not in (names[0], reference)]
    return first + [pair for pair in baseline if names[0] != reference]


def _against(
    study: Study, rows: Mapping[str, Sequence[Row]], first: str, second: str, by: str, headline: str
) -> Against | None:
    """None where one of them has no run, or no mark that all have reached."""
    marks = study.marks.seconds if by == "seconds" else study.marks.queries
    if not rows[first] or not rows[second]:
        return None
    key = f"{headline}_at_{by}"
    for place in reversed(range(len(marks))):
        ours, theirs = ([row[key][place] for row in rows[name]] for name in (first, second))
        if None in ours or None in theirs:
            continue
        test = mann_whitney(ours, theirs)
        return Against(
            first=first,
            second=second,
            by=by,
            mark=marks[place],
            median_first=float(np.median(ours)),
            median_second=float(np.median(theirs)),
            runs_first=len(ours),
            runs_second=len(theirs),
            p=test.p,
            p_holm=test.p,
            a12=vargha_delaney(ours, theirs),
            ahead=None,
        )
    return None


def _corrected(families: list[list[Against]]) -> list[list[Against]]:
    flat = [against for family in families for against in family]
    if not flat:
        return families
    corrected = iter(holm([against.p for against in flat]).tolist())
    return [[_decided(against, next(corrected)) for against in family] for family in families]


def _decided(against: Against, p: float) -> Against:
    ahead = None
    if p < LEVEL and against.a12 != 0.5:
        ahead = against.first if against.a12 > 0.5 else against.second
    return replace(against, p_holm=p, ahead=ahead)
