"""Shares and rates that the paper reports of a search: validity, improvement, and how much runs differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from diffgan.errors import DataError
from diffgan.stats.checks import check_count, check_sample
from diffgan.stats.intervals import Interval, wilson_interval


def validity_share(valid: ArrayLike, *, level: float = 0.95) -> Interval:
    """The share of valid images among those that were judged, with Wilson's interval.

    Args:
        valid: whether each is (N,).
        level: the confidence level.

    Raises:
        DataError: there is none, or the values are not true or false.
        UsageError: the level is out of range.

    Example:
        >>> validity_share([True, False, True, True]).estimate
        0.75
    """
    said = np.asarray(valid)
    if said.dtype != np.bool_ or said.ndim != 1:
        raise DataError(
            f"The verdicts are of type {said.dtype} and shape {said.shape}; expected true or false, (n,): compare them "
            "with a threshold first."
        )
    return wilson_interval(int(said.sum()), len(said), level=level)


def improvement(found: int, initial: int) -> float:
    """(found - initial) / initial: how many more triggers a search finds than the data holds, as a share of those.

    Raises:
        DataError: a count is negative or no whole number, or there is none to begin with.

    Example:
        >>> improvement(found=410, initial=82)
        4.0
    """
    after, before = check_count(found, "The number found"), check_count(initial, "The number at first")
    if not before:
        raise DataError("The data holds no trigger, so nothing can be a multiple of that: report the count found.")
    return (after - before) / before


def coefficient_of_variation(values: ArrayLike) -> float:
    """The standard deviation (of a sample: divided by n - 1) as a share of the mean.

    Raises:
        DataError: there are fewer than two values, one is NaN, or their mean is not above 0.

    Example:
        >>> coefficient_of_variation([8, 10, 12])
        0.2
    """
    sample = check_sample(values, "The sample")
    if len(sample) < 2 or not sample.mean() > 0:
        raise DataError(
            f"{len(sample)} values of mean {sample.mean():g} have no coefficient of variation; expected 2 or more, "
            "with a mean above 0."
        )
    return float(sample.std(ddof=1) / sample.mean())
