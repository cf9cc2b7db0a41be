"""The first screen: what came out, in two sentences."""

from __future__ import annotations

from pathlib import Path

from diffgan.filters.validity import in_percent
from diffgan.report.cells import Matrix
from diffgan.report.labelled import Labelled
from diffgan.report.measured import Measured, OnData, Rate
from diffgan.report.run import Run
from diffgan.stats import Interval

_SURE = 0.05


def how_often(run: Run, measured: Measured) -> str:
    """On the labelled data, and who is right there."""
    first, second = run.model_names
    if isinstance(measured.on_data, str):
        return f"How often {first} (A) and {second} (B) disagree on the labelled data could not be measured."
    rate = measured.on_data.rate
    said = (
        f"On the labelled data ({data_of(run)}, {asked(rate)}), {first} (A) and {second} (B) disagree on "
        f"{rate.disagreements:,}, which is {with_interval(rate.share)}"
    )
    right = who_is_right(measured.on_data)
    return f"{said}; {right}." if right else f"{said}."


def who_is_right(found: OnData) -> str:
    """Where they disagree on labelled data; empty where the outputs are no classes, or they never disagree."""
    right, p = found.right, found.p
    if right is None or p is None or not found.rate.disagreements:
        return ""
    counts = f"there, A alone is right {times(right.only_a)} and B alone {times(right.only_b)}"
    if p >= _SURE:
        return f"{counts}, too even to say that either is better ({chance(p)})"
    better, other = ("A", "B") if right.only_a > right.only_b else ("B", "A")
    return f"{counts}, so {better} is better than {other} on it ({chance(p)})"


def on_what(run: Run, matrix: Matrix | str, labelled: Labelled | str) -> str:
    """What the search found, as counts."""
    if not len(run):
        shown = run.summary.get("evaluations")
        among = f" among {shown:,} images" if isinstance(shown, int) else ""
        return f"The search found no image on which they disagree{among}."
    kept, found = int(run.kept.sum()), len(run)
    images = f"{found:,} different image{'' if found == 1 else 's'} on which they disagree"
    said = f"The search found {images}"
    if run.is_filtered:
        said += f", of which {kept:,} pass the filters"
    if isinstance(matrix, Matrix):
        top = matrix.cells[0]
        count = top.kept if kept else top.found
        said += f"; most often, A says {top.label_a} where B says {top.label_b} ({count:,} of them)"
    if isinstance(labelled, Labelled) and labelled.only_a + labelled.only_b + labelled.neither + labelled.invalid:
        by = " by judges" if labelled.by_machine == labelled.triggers else ""
        said += (
            f"; of those labelled{by}, A is right on {labelled.only_a:,}, B on {labelled.only_b:,}, neither on "
            f"{labelled.neither:,}, and {labelled.invalid:,} show no class"
        )
    return f"{said}."


def data_of(run: Run) -> str:
    """The name of the data; of a path, its last part."""
    return Path(run.data_name).name or run.data_name


def chance(p: float) -> str:
    """A p-value.

    Example:
        >>> chance(0.0421), chance(1e-9)
        ('p = 0.042', 'p < 0.001')
    """
    return f"p = {p:.2g}" if p >= 0.001 else "p < 0.001"


def asked(rate: Rate) -> str:
    """How many images a rate is from."""
    return f"{rate.images:,} images" if rate.of is None else f"{rate.images:,} of {rate.of:,} images, drawn at random"


def with_interval(share: Interval) -> str:
    """As people read it."""
    return f"{in_percent(share.estimate)} (95 % interval {in_percent(share.low)} to {in_percent(share.high)})"


def times(count: int) -> str:
    """How often.

    Example:
        >>> times(1), times(1_200)
        ('once', '1,200 times')
    """
    return "once" if count == 1 else f"{count:,} times" if count else "never"
