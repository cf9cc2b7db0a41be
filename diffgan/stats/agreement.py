"""How far raters agree beyond chance: Cohen's kappa for two, Fleiss' for several.

Kappa is (observed − expected) / (1 − expected): 1 where all agree, 0 where they do as often as chance would have it.
It is undefined where chance alone makes them agree: all ratings are one category.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgan.errors import DataError, UsageError
from diffgan.stats.checks import Floats, check_level
from diffgan.stats.intervals import Interval

RESAMPLES = 2000

_LEAST, _GREATEST = -1.0, 1.0
_BLOCK_VALUES = 1 << 22


@dataclass(frozen=True)
class Kappa:
    """How far raters agree.

    Attributes:
        items: how many they have all rated.
        observed: the share of equal ratings: of the items (two raters), or of the pairs of ratings of an item, on
            average (several). None: there are no items.
        expected: the same if each rated at random, as often each category as seen. None: there are no items.
        kappa: None where it is undefined: no items, or only one category.
        interval: about kappa, by the bootstrap over items. None: kappa is undefined, there is one item alone, or no
            interval was asked for.
    """

    items: int
    observed: float | None
    expected: float | None
    kappa: float | None
    interval: Interval | None


@dataclass(frozen=True, eq=False)
class _Patterns:
    """Items that were rated alike stand together: how often, whether they agree, and the categories they were put in.

    The categories (P, K) are shares of the ratings; for two raters, those of each.
    """

    times: NDArray[np.int64]
    agree: Floats
    first: Floats
    second: Floats


def cohen_kappa(
    first: ArrayLike,
    second: ArrayLike,
    *,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Kappa:
    """Cohen's kappa of two raters, who may use each category more or less often.

    Args:
        first: the category of each item (N,) by one rater: whole numbers, or texts.
        second: by the other (N,).
        rng: draws resamples of the items for the interval; without one, there is no interval. A resample in which
            kappa is undefined counts as -1 at the lower end and as 1 at the upper.
        level: of the interval.
        resamples: how many to draw.

    Raises:
        DataError: the ratings are not one row each of the same length.
        UsageError: the level or the number of resamples is out of range.

    Example:
        >>> cohen_kappa([1, 1, 0, 0], [1, 0, 0, 0]).kappa
        0.5
    """
    one, other = _ratings(first, "The first rater"), _ratings(second, "The second rater")
    if len(one) != len(other):
        raise DataError(f"The first rater has {len(one)} ratings and the second {len(other)}: give those of the same.")
    if one.dtype.kind != other.dtype.kind and len(one):
        raise DataError(f"The raters' categories are of type {one.dtype} and {other.dtype}: name them alike.")
    categories, places = np.unique(np.concatenate([one, other]), return_inverse=True)
    pairs, times = np.unique(places.reshape(2, -1), axis=1, return_counts=True)
    used = np.eye(len(categories))
    patterns = _Patterns(times, (pairs[0] == pairs[1]).astype(np.float64), used[pairs[0]], used[pairs[1]])
    return _kappa(patterns, rng, level, resamples)


def fleiss_kappa(
    counts: ArrayLike,
    *,
    rng: np.random.Generator | None = None,
    level: float = 0.95,
    resamples: int = RESAMPLES,
) -> Kappa:
    """Fleiss' kappa of m ratings of each item, by whomever.

    Args:
        counts: how many ratings put each item in each category (N, K); every row sums to the same m ≥ 2.
        rng: as for `cohen_kappa`.
        level: of the interval.
        resamples: how many to draw.

    Raises:
        DataError: the counts are no such table.
        UsageError: the level or the number of resamples is out of range.

    Example:
        >>> fleiss_kappa([[3, 0], [0, 3], [3, 0]]).kappa
        1.0
    """
    table = _counts(counts)
    raters = int(table[0].sum()) if len(table) else 2
    rows, times = np.unique(table, axis=0, return_counts=True)
    agree = (rows * (rows - 1)).sum(axis=1) / (raters * (raters - 1))
    shares = rows / raters
    return _kappa(_Patterns(times, agree, shares, shares), rng, level, resamples)


def _kappa(patterns: _Patterns, rng: np.random.Generator | None, level: float, resamples: int) -> Kappa:
    check_level(level)
    if resamples < 1:
        raise UsageError(f"{resamples} resamples were asked for; expected at least 1, usually {RESAMPLES:,}.")
    items = int(patterns.times.sum())
    if items == 0:
        return Kappa(0, None, None, None, None)
    observed, expected, kappas = (float(part[0]) for part in _evaluate(patterns, patterns.times[None]))
    if np.isnan(kappas):
        return Kappa(items, observed, expected, None, None)
    interval = None
    if rng is not None and items > 1:
        interval = _interval(kappas, _bootstrap(patterns, rng, resamples), level)
    return Kappa(items, observed, expected, kappas, interval)


def _evaluate(patterns: _Patterns, times: NDArray[np.int64]) -> tuple[Floats, Floats, Floats]:
    """Observed and expected agreement and kappa (R,) where the patterns occur so often (R, P)."""
    shares = times / times.sum(axis=1, keepdims=True)
    observed = shares @ patterns.agree
    expected = ((shares @ patterns.first) * (shares @ patterns.second)).sum(axis=1)
    is_defined = expected < 1 - 1e-12
    kappa = np.full(len(times), np.nan)
    np.divide(observed - expected, 1 - expected, out=kappa, where=is_defined)
    return observed, expected, kappa


def _bootstrap(patterns: _Patterns, rng: np.random.Generator, resamples: int) -> Floats:
    """Kappa in resamples of the items; how often each pattern is drawn is multinomial."""
    items = patterns.times.sum()
    rows = max(1, _BLOCK_VALUES // len(patterns.times))
    drawn = np.empty(resamples)
    for start in range(0, resamples, rows):
        part = drawn[start : start + rows]
        part[:] = _evaluate(patterns, rng.multinomial(items, patterns.times / items, size=len(part)))[2]
    return drawn


def _interval(kappa: float, drawn: Floats, level: float) -> Interval:
    low = np.quantile(np.nan_to_num(drawn, nan=_LEAST), (1 - level) / 2)
    high = np.quantile(np.nan_to_num(drawn, nan=_GREATEST), (1 + level) / 2)
    return Interval(kappa, float(low), float(high), level)


def _ratings(values: ArrayLike, name: str) -> NDArray[np.generic]:
    ratings = np.asarray(values)
    if ratings.ndim != 1 or (len(ratings) and ratings.dtype.kind not in "biuU"):
        raise DataError(
            f"{name} gave ratings of shape {ratings.shape} and type {ratings.dtype}; expected one row of whole "
            "numbers or texts."
        )
    return ratings.astype(np.int64) if ratings.dtype.kind in "biu" else ratings


def _counts(values: ArrayLike) -> NDArray[np.int64]:
    try:
        given = np.asarray(values)
    except ValueError as error:
        raise DataError(f"The counts of ratings are no table ({error}): give each item a row.") from None
    if given.ndim != 2 or given.dtype.kind not in "biu" or (given.size and given.min() < 0):
        raise DataError(
            f"The counts of ratings have shape {given.shape} and type {given.dtype}; expected N×K whole numbers from 0."
        )
    table: NDArray[np.int64] = given.astype(np.int64)
    sums = np.unique(table.sum(axis=1))
    if len(sums) > 1:
        raise DataError(
            f"The items have {sums[0]} to {sums[-1]} ratings; expected the same number each: take those with as many."
        )
    if len(sums) and sums[0] < 2:
        raise DataError(f"Each item has {sums[0]} ratings; expected at least 2: one alone agrees with nobody.")
    return table
