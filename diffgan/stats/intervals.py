"""Quantiles, and intervals that say how far a figure can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffgan.errors import DataError, UsageError
from diffgan.stats.checks import Floats, check_count, check_level, check_numbers, check_sample, check_share

Statistic = Callable[[Floats], Floats]
_BLOCK_VALUES = 1 << 22


@dataclass(frozen=True)
class Interval:
    """An estimate, and the interval about it at a confidence level."""

    estimate: float
    low: float
    high: float
    level: float


def median(resamples: Floats) -> Floats:
    """The median of each row: a statistic for `bootstrap_interval`."""
    return np.asarray(np.median(resamples, axis=1))


def mean(resamples: Floats) -> Floats:
    """The mean of each row: a statistic for `bootstrap_interval`."""
    return np.asarray(np.mean(resamples, axis=1))


def quantile(values: ArrayLike, share: float) -> float:
    """The value below which this share of the sample lies.

    Of n sorted values x[0] … x[n-1], it is the one at place share · (n - 1), on the straight line between its
    neighbours where that is no whole number (numpy's "linear"; type 7 of Hyndman and Fan).

    Raises:
        DataError: the sample is empty, not one-dimensional, or holds NaN.
        UsageError: the share lies outside [0, 1].

    Example:
        >>> quantile([1, 2, 3, 5], 0.5)
        2.5
    """
    sample = check_sample(values, "The sample")
    return float(np.quantile(sample, check_share(share, "The quantile's share"), method="linear"))


def bootstrap_interval(
    values: ArrayLike,
    statistic: Statistic = median,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int = 10_000,
) -> Interval:
    """The percentile bootstrap: the middle `level` of the statistic over resamples drawn with replacement.

    Args:
        values: n observations, of any shape each: (n,) or (n, …). Rows are drawn whole, so that pairs stay together.
        statistic: takes resamples (R, n, …) and gives one number for each: (R,). `median`, `mean` or any other.
        rng: draws the resamples; the same state gives the same interval.
        level: the confidence level.
        resamples: how many to draw.

    Raises:
        DataError: the sample is empty or holds NaN, or the statistic gives something else than R finite numbers.
        UsageError: the level or the number of resamples is out of range.

    Example:
        >>> import numpy as np
        >>> bootstrap_interval([7, 7, 7], mean, rng=np.random.default_rng(0))
        Interval(estimate=7.0, low=7.0, high=7.0, level=0.95)
    """
    sample = check_numbers(values, "The sample")
    check_level(level)
    if resamples < 1:
        raise UsageError(f"{resamples} resamples were asked for; expected at least 1, usually 10,000.")
    estimate = float(_evaluate(statistic, sample[None])[0])
    rows = max(1, _BLOCK_VALUES // sample.size)
    drawn = np.empty(resamples)
    for start in range(0, resamples, rows):
        part = drawn[start : start + rows]
        chosen = rng.integers(0, len(sample), size=(len(part), len(sample)))
        part[:] = _evaluate(statistic, sample[chosen])
    low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2], method="linear")
    return Interval(estimate, float(low), float(high), level)


def _evaluate(statistic: Statistic, resamples: Floats) -> Floats:
    results = np.asarray(statistic(resamples), dtype=np.float64)
    if results.shape != (len(resamples),):
        raise DataError(
            f"The statistic gave shape {results.shape} for {len(resamples)} resamples; "
            f"expected ({len(resamples)},): reduce every axis but the first."
        )
    if not np.isfinite(results).all():
        raise DataError("The statistic gave NaN or infinity for a resample: choose one that is defined on every draw.")
    return results


def wilson_interval(successes: int, trials: int, *, level: float = 0.95) -> Interval:
    """Wilson's score interval for a proportion, without continuity correction.

    Raises:
        DataError: the counts are no whole numbers, there is no trial, or there are more successes than trials.
        UsageError: the level is out of range.

    Example:
        >>> wilson_interval(0, 10).low
        0.0
    """
    from scipy.special import ndtri

    won, tried = check_count(successes, "The number of successes"), check_count(trials, "The number of trials")
    if tried == 0 or won > tried:
        raise DataError(f"{won} successes of {tried} trials make no proportion; expected 0 to n of n ≥ 1.")
    z = float(ndtri((1 + check_level(level)) / 2))
    share = won / tried
    centre = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z / (1 + z * z / tried) * float(np.sqrt(share * (1 - share) / tried + z * z / (4 * tried * tried)))
    low = 0.0 if won == 0 else max(0.0, centre - half)
    high = 1.0 if won == tried else min(1.0, centre + half)
    return Interval(share, low, high, level)
