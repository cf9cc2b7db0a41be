"""How many of an archive's triggers are valid, estimated from those that are labelled."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgan.errors import DataError, UsageError
from diffgan.stats import Interval, wilson_interval

MARGIN = 0.05
#: A random sample raises a doubt about as seldom as this, for each way of looking at it.
_SELDOM = 0.001


@dataclass(frozen=True)
class ValidityRatio:
    """The share of valid triggers in an archive.

    Attributes:
        valid, labelled: how many of the labelled triggers are valid, and how many are labelled.
        population: how many triggers there are.
        share: Wilson's interval with the correction for a finite population; None: nothing is labelled.
        margin: what `needed` and `needed_here` are for, at the same level.
        needed: how many labels give this margin, whatever the share.
        needed_here: how many do by what is known of the share, taken at that end of the interval that needs most.
        doubts: why the labelled triggers may be no random sample; empty where nothing speaks against it.
    """

    valid: int
    labelled: int
    population: int
    share: Interval | None
    margin: float
    needed: int
    needed_here: int
    doubts: tuple[str, ...]

    def __str__(self) -> str:
        at = self.share
        if at is None:
            none = f"valid: unknown, none of {self.population:,} triggers is labelled"
            return f"{none}; {self.needed:,} labels tell it to ± {in_percent(self.margin)}"
        lines = [f"valid: {shown(at)}, by {self.labelled:,} labels of {self.population:,} triggers"]
        if self.needed_here > self.labelled:
            lines.append(f"for ± {in_percent(self.margin)}: {self.needed_here:,} labels (at most {self.needed:,})")
        return "\n".join([*lines, *(f"the sample may not be random: {doubt}" for doubt in self.doubts)])

    def as_json(self) -> dict[str, Any]:
        """As files hold it; what there is none of is null."""
        return asdict(self)


def validity_ratio(
    valid: int,
    labelled: int,
    population: int,
    *,
    level: float = 0.95,
    margin: float = MARGIN,
    doubts: tuple[str, ...] = (),
) -> ValidityRatio:
    """The share of valid triggers, from a random sample of labelled ones.

    Args:
        valid: how many of the labelled ones are.
        labelled: how many are labelled.
        population: how many triggers there are.
        level: of the interval.
        margin: half the width that more labels shall bring the interval to.
        doubts: from `sampling_doubts`.

    Raises:
        DataError: the numbers do not fit one another.
        UsageError: level or margin is out of range.

    Example:
        >>> ratio = validity_ratio(300, 400, 20_000)
        >>> f"{ratio.share.low:.3f} {ratio.share.high:.3f}", ratio.needed, ratio.needed_here
        ('0.706 0.790', 377, 315)
    """
    if not 0 <= valid <= labelled <= population:
        raise DataError(
            f"{valid} valid of {labelled} labelled of {population} triggers do not fit; expected each at most the next."
        )
    share = finite_wilson(valid, labelled, population, level=level) if labelled else None
    worst = labels_needed(margin, population=population, level=level)
    # The nearer to one half, the more labels it takes.
    end = 0.5 if share is None else min(max(0.5, share.low), share.high)
    here = labels_needed(margin, population=population, share=end, level=level) if 0 < end < 1 else labelled
    return ValidityRatio(valid, labelled, population, share, margin, worst, here, doubts)


def finite_wilson(successes: int, sample: int, population: int, *, level: float = 0.95) -> Interval:
    """Wilson's interval for a share of a finite population: its variance times (N - n) / (N - 1).

    That is Wilson's interval with z² times this factor. It stays within what is possible with the rest of the
    population all of one kind; where everything was looked at, it is a point.

    Raises:
        DataError: the numbers do not fit one another, or the sample is empty.
        UsageError: the level is out of range.

    Example:
        >>> whole = finite_wilson(3, 4, 4)
        >>> whole.low, whole.high
        (0.75, 0.75)
    """
    from scipy.special import ndtr, ndtri

    interval = wilson_interval(successes, sample, level=level)
    if sample > population:
        raise DataError(f"A sample of {sample} cannot come from {population}: give the size of the whole.")
    if sample == population:
        return replace(interval, low=interval.estimate, high=interval.estimate)
    factor = (population - sample) / (population - 1)
    narrower = 2 * float(ndtr(ndtri((1 + level) / 2) * math.sqrt(factor))) - 1
    corrected = wilson_interval(successes, sample, level=narrower)
    least, most = successes / population, (population - sample + successes) / population
    return Interval(interval.estimate, max(corrected.low, least), min(corrected.high, most), level)


def labels_needed(margin: float, *, population: int | None = None, share: float = 0.5, level: float = 0.95) -> int:
    """How many labels, drawn at random, tell a share to ± a margin.

    It is z² p (1 - p) / e², and n N / (n + N - 1) of that for a finite population N, rounded up.

    Args:
        margin: e, half the width of the interval.
        population: N; None: without end.
        share: p; one half is the worst case.
        level: of the interval.

    Raises:
        UsageError: a number is out of range.

    Example:
        >>> labels_needed(0.05), labels_needed(0.05, population=1_000)
        (385, 278)
    """
    from scipy.special import ndtri

    for name, value in (("margin", margin), ("share", share), ("level", level)):
        if not 0 < value < 1:
            raise UsageError(f"The {name} is {value}; expected a number between 0 and 1.")
    unlimited = float(ndtri((1 + level) / 2)) ** 2 * share * (1 - share) / margin**2
    if population is None:
        return math.ceil(unlimited)
    if population < 1:
        return 0
    return min(population, math.ceil(unlimited * population / (unlimited + population - 1)))


def sampling_doubts(
    labelled: ArrayLike, *, kept: ArrayLike | None = None, scores: ArrayLike | None = None
) -> tuple[str, ...]:
    """Why the labelled triggers may be no random sample of all, as far as it can be seen.

    Args:
        labelled: for each trigger, in order of discovery, whether it is labelled.
        kept: for each, whether the filters passed it.
        scores: for each, a filter's score; NaN where there is none.

    Returns:
        A clause for each thing that would come about by chance in one of a thousand random samples at most; nothing
        where all or none are labelled.
    """
    has_label = np.asarray(labelled, dtype=np.bool_)
    if has_label.all() or not has_label.any():
        return ()
    found = [] if kept is None else [_kept_doubt(has_label, np.asarray(kept, dtype=np.bool_))]
    places = np.arange(len(has_label), dtype=np.float64)
    if _differ(places[has_label], places[~has_label]):
        found.append("the labelled ones are not spread evenly over the order of discovery")
    if scores is not None:
        numbers = np.asarray(scores, dtype=np.float64)
        if _differ(_known(numbers[has_label]), _known(numbers[~has_label])):
            found.append("the scores of the labelled ones differ from those of the others")
    return tuple(doubt for doubt in found if doubt)


def in_percent(share: float) -> str:
    """A share as people read it.

    Example:
        >>> in_percent(0.051)
        '5.1 %'
    """
    return f"{100 * share:.1f} %"


def shown(share: Interval | None) -> str:
    """A share with its interval; `unknown` where there is none."""
    if share is None:
        return "unknown"
    return f"{in_percent(share.estimate)} ({share.level:.0%}: {in_percent(share.low)} to {in_percent(share.high)})"


def _kept_doubt(has_label: NDArray[np.bool_], kept: NDArray[np.bool_]) -> str:
    from scipy.stats import hypergeom

    both = int((has_label & kept).sum())
    draw = hypergeom(len(kept), int(kept.sum()), int(has_label.sum()))
    if 2 * min(float(draw.cdf(both)), float(draw.sf(both - 1))) > _SELDOM:
        return ""
    labelled = int(has_label.sum())
    if both in (0, labelled):
        return f"only triggers that the filters {'kept' if both else 'dropped'} are labelled"
    return f"the filters kept {both / labelled:.0%} of the labelled ones, but {kept.mean():.0%} of all"


def _differ(some: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """Kolmogorov and Smirnov's test, by the leading term of its tail, which for small samples is the more cautious."""
    if not len(some) or not len(others):
        return False
    both = np.concatenate([some, others])
    shares = [np.searchsorted(np.sort(part), both, side="right") / len(part) for part in (some, others)]
    gap = float(np.abs(shares[0] - shares[1]).max())
    return 2 * math.exp(-2 * gap**2 * len(some) * len(others) / len(both)) < _SELDOM


def _known(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    return scores[np.isfinite(scores)]
