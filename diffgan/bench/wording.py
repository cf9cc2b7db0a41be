"""Figures of a bench as people read them, in Markdown and on the page alike."""

from __future__ import annotations

from dataclasses import dataclass

from diffgan.bench.comparing import Against
from diffgan.bench.study import Study
from diffgan.bench.tables import Block, Results, Standing, improvement_of
from diffgan.durations import show_duration
from diffgan.stats import Interval

MISSING = "–"

NO_DIFFERENCE = "no difference shown"

#: What the headline is called.
CALLED = {"dv": "DV", "unique": "unique triggers"}

AT_THE_END = "at the end of the budget"

PROTOCOL = (
    "Medians over seeds, with 95 % bootstrap intervals. DV: distinct valid triggers, in order of discovery. "
    "Time is the search clock; imports, warm-up and judging stand outside. Comparisons: two-sided Mann-Whitney, p "
    "after Holm over all comparisons of the study, and Vargha-Delaney's A12, the chance that a run of the first finds "
    "more than one of the second; at the greatest mark that all runs of both reached."
)


@dataclass(frozen=True)
class Table:
    """A heading, column heads and lines of text."""

    title: str
    head: list[str]
    lines: list[list[str]]


def tables_of(results: Results, block: Block) -> list[Table]:
    """The tables of a pair and generator; those without content are left out."""
    study = results.benched.study
    made = [
        _standings(results, block),
        _marks("seconds", results, block),
        _marks("queries", results, block),
        _found(study, block),
        _improvements(study, block),
        comparisons_of(results, block),
    ]
    return [table for table in made if table.lines and len(table.head) > 1]


def brief_of(results: Results, block: Block) -> Table:
    """How the strategies stand, in few columns."""
    judged = results.headline == "dv"
    lines = []
    for at in block.standings:
        told = {name: _middle(interval) for name, interval in at.figures.items()}
        valid = MISSING if at.figures["share_valid"] is None else f"{100 * at.figures['share_valid'].estimate:.1f} %"
        known = [ranged(at.figures["dv"]), valid, told["cells"]] if judged else []
        lines.append([at.strategy, str(at.runs), *known, told["unique"], told["images_per_second"]])
    head = ["strategy", "runs", *(["DV", "valid", "cells"] if judged else []), "unique triggers", "images/s"]
    return Table(AT_THE_END, head, lines)


def _middle(interval: Interval | None) -> str:
    return number(None if interval is None else interval.estimate)


def title_of(block: Block) -> str:
    """The heading of a block."""
    return block.pair if block.generator is None else f"{block.pair}, {block.generator}"


def initial_of(block: Block) -> str:
    """What the two disagree on without a search."""
    initial = block.initial
    text = f"Without a search, the two disagree on {initial['unique']:,} of the data's own images"
    return f"{text}, {initial['valid']:,} of them valid (DV {initial['dv']:,})." if "valid" in initial else f"{text}."


def number(value: float | None) -> str:
    """A count or a rate.

    Example:
        >>> number(1234.5), number(3.25), number(0.0123), number(None)
        ('1,234', '3.25', '0.0123', '–')
    """
    if value is None:
        return MISSING
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


def ranged(interval: Interval | None) -> str:
    """A median with its interval."""
    if interval is None:
        return MISSING
    return f"{number(interval.estimate)} ({number(interval.low)}–{number(interval.high)})"


def shared(interval: Interval | None) -> str:
    """The same of a share, in percent."""
    if interval is None:
        return MISSING
    return f"{100 * interval.estimate:.1f} % ({100 * interval.low:.1f}–{100 * interval.high:.1f})"


def mark_name(mark: float, by: str) -> str:
    """Where a curve is read.

    Example:
        >>> mark_name(90, "seconds"), mark_name(0.5, "seconds"), mark_name(200_000, "queries")
        ('1:30 min', '0.5 s', '200,000 queries')
        >>> mark_name(3600, "seconds"), mark_name(3630, "seconds")
        ('1:00 h', '3630 s')
    """
    if by == "seconds":
        said = mark == int(mark) and (mark < 3600 or not mark % 60)
        return show_duration(mark) if said else f"{mark:g} s"
    return f"{mark:,.0f} queries"


def _standings(results: Results, block: Block) -> Table:
    judged = results.headline == "dv"
    head = ["strategy", "runs", *(["DV", "share valid", "cells", "largest cell", "one right"] if judged else [])]
    lines = []
    for at in block.standings:
        figures = at.figures
        told = [
            ranged(figures["dv"]),
            shared(figures["share_valid"]),
            ranged(figures["cells"]),
            shared(figures["largest_cell_share"]),
            ranged(figures["exactly_one_right"]),
        ]
        rest = [ranged(figures["unique"]), _middle(figures["images_per_second"])]
        lines.append([at.strategy, str(at.runs), *(told if judged else []), *rest])
    return Table(AT_THE_END, [*head, "unique triggers", "images/s"], lines)


def _marks(by: str, results: Results, block: Block) -> Table:
    marks = getattr(results.benched.study.marks, by)
    lines = [[at.strategy, *map(ranged, getattr(at, f"at_{by}"))] for at in block.standings]
    what = "time" if by == "seconds" else "queries"
    title = f"{CALLED[results.headline]} by {what}"
    return Table(title, ["strategy", *(mark_name(mark, by) for mark in marks)], lines)


def _found(study: Study, block: Block) -> Table:
    """What the paper's tables have beside: improvement, variation, who is right, diversity."""
    plan = study.diversity
    metrics = plan.metrics if plan else ()
    head = ["strategy", "triggers", "improvement", "variation"]
    judged = study.judge is not None
    head += ["only A right", "only B right", "both wrong"] if judged else []
    lines = [[*_paper_line(at, judged), *(ranged(at.diversity[name]) for name in metrics)] for at in block.standings]
    heads = [plan.told(name) for name in metrics] if plan else []
    return Table("in the paper's terms (who is right: per 1,000 valid)", [*head, *heads], lines)


def _paper_line(at: Standing, judged: bool) -> list[str]:
    times = MISSING if at.improvement is None else f"{at.improvement:,.1f} ×"
    varies = MISSING if at.variation is None else f"{100 * at.variation:.1f} %"
    right = [MISSING] * 3 if at.right_per_1000 is None else [f"{value:.0f}" for value in at.right_per_1000]
    return [at.strategy, ranged(at.figures["triggers"]), times, varies, *(right if judged else [])]


def _improvements(study: Study, block: Block) -> Table:
    """The paper's tables 4 to 7."""
    marks = [mark_name(mark, "seconds") for mark in study.marks.seconds]
    initial = block.initial["unique"]
    lines = [[at.strategy, *(_improved(found, initial) for found in at.unique_at_seconds)] for at in block.standings]
    title = "unique triggers by time: median, range over runs, improvement over those of the data"
    return Table(title, ["strategy", *marks], lines)


def _improved(found: tuple[float, int, int] | None, initial: int) -> str:
    if found is None:
        return MISSING
    middle, least, most = found
    times = improvement_of(middle, initial)
    return f"{number(middle)} ({least:,}–{most:,}){'' if times is None else f', {times:,.1f} ×'}"


def comparisons_of(results: Results, block: Block) -> Table:
    """Who is ahead of whom."""
    head = ["first and second", "at", "medians", "A12", "p (Holm)", "ahead"]
    return Table(f"who is ahead, by {CALLED[results.headline]}", head, [_line(each) for each in block.comparisons])


def _line(against: Against) -> list[str]:
    return [
        f"{against.first} and {against.second}",
        mark_name(against.mark, against.by),
        f"{number(against.median_first)} and {number(against.median_second)}",
        f"{against.a12:.2f}",
        f"{against.p_holm:.2g}",
        against.ahead or NO_DIFFERENCE,
    ]
