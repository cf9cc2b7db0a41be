"""Is one sample greater than another, by how much, and how sure is that: tests and an effect size."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffgan.errors import DataError
from diffgan.stats.checks import Floats, check_count, check_sample

EXACT_MANN_WHITNEY = 50
EXACT_MCNEMAR = 25
EXACT_WILCOXON = 50


@dataclass(frozen=True)
class TestResult:
    """A test's statistic, its two-sided p-value, and whether that is exact or an approximation."""

    __test__ = False  # the name looks like a test to pytest

    statistic: float
    p: float
    exact: bool


def vargha_delaney(first: ArrayLike, second: ArrayLike) -> float:
    """A12: the chance that a draw of the first exceeds one of the second, ties counting half; 0.5 is no difference.

    Raises:
        DataError: a sample is empty, not one-dimensional, or holds NaN.

    Example:
        >>> vargha_delaney([2, 3], [1, 2])
        0.875
    """
    ours, theirs = check_sample(first, "The first sample"), check_sample(second, "The second sample")
    return _wins(ours, theirs) / (len(ours) * len(theirs))


def mann_whitney(first: ArrayLike, second: ArrayLike) -> TestResult:
    """The two-sided Mann-Whitney test; the statistic is U of the first, the pairs it wins, ties counting half.

    Exact where no two values are equal and neither sample has more than 50; otherwise the normal approximation,
    corrected for ties and for continuity. Where all values are equal, p is 1.

    Raises:
        DataError: a sample is empty, not one-dimensional, or holds NaN.

    Example:
        >>> mann_whitney([1, 2, 3], [4, 5, 6])
        TestResult(statistic=0.0, p=0.1, exact=True)
    """
    from scipy.stats import mannwhitneyu

    ours, theirs = check_sample(first, "The first sample"), check_sample(second, "The second sample")
    different = len(np.unique(np.concatenate([ours, theirs])))
    if different == 1:
        return TestResult(_wins(ours, theirs), 1.0, False)
    exact = different == len(ours) + len(theirs) and max(len(ours), len(theirs)) <= EXACT_MANN_WHITNEY
    result = mannwhitneyu(ours, theirs, alternative="two-sided", method="exact" if exact else "asymptotic")
    return TestResult(float(result.statistic), float(result.pvalue), exact)


def wilcoxon(first: ArrayLike, second: ArrayLike) -> TestResult:
    """The two-sided Wilcoxon signed-rank test of pairs; the statistic is the smaller sum of ranks.

    Pairs without a difference are left out. Exact where no two differences are of equal size and there are at most 50;
    otherwise the normal approximation, corrected for ties and for continuity. Without any difference, p is 1.

    Args:
        first: n values.
        second: as many, each the partner of the one in its place.

    Raises:
        DataError: a sample is empty, not one-dimensional, or holds NaN, or they are not equally long.

    Example:
        >>> wilcoxon([3, 5, 7, 9], [2, 3, 4, 5])
        TestResult(statistic=0.0, p=0.125, exact=True)
    """
    from scipy.stats import wilcoxon as signed_rank

    ours, theirs = check_sample(first, "The first sample"), check_sample(second, "The second sample")
    if len(ours) != len(theirs):
        raise DataError(f"The samples have {len(ours)} and {len(theirs)} values; expected pairs: as many in each.")
    differences = ours - theirs
    differences = differences[differences != 0]
    if not len(differences):
        return TestResult(0.0, 1.0, False)
    exact = len(np.unique(np.abs(differences))) == len(differences) <= EXACT_WILCOXON
    result = signed_rank(differences, correction=not exact, method="exact" if exact else "approx")
    return TestResult(float(result.statistic), float(result.pvalue), exact)


def mcnemar(only_first: int, only_second: int) -> TestResult:
    """McNemar's test on the discordant pairs: is one of two models right more often, on the same images?

    Below 25 discordant pairs it is the exact binomial test, and the statistic is the smaller count; from 25 on it is
    chi-squared with continuity correction, (|b - c| - 1)² / (b + c). Without a discordant pair, p is 1.

    Args:
        only_first: pairs on which only the first is right.
        only_second: pairs on which only the second is right.

    Raises:
        DataError: a count is negative or no whole number.

    Example:
        >>> mcnemar(1, 4)
        TestResult(statistic=1.0, p=0.375, exact=True)
    """
    from scipy.stats import binom, chi2

    b = check_count(only_first, "The number of pairs that only the first has right")
    c = check_count(only_second, "The number of pairs that only the second has right")
    if b + c < EXACT_MCNEMAR:
        smaller = min(b, c)
        return TestResult(float(smaller), min(1.0, 2 * float(binom.cdf(smaller, b + c, 0.5))), True)
    statistic = max(abs(b - c) - 1, 0) ** 2 / (b + c)
    return TestResult(statistic, float(chi2.sf(statistic, 1)), False)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's correction: p-values that may be compared with one level together, in the order given.

    The i-th smallest of m is multiplied by m - i + 1, may not be less than a smaller one's, and not exceed 1.

    Raises:
        DataError: the list is empty, or a value is NaN or outside [0, 1].

    Example:
        >>> holm([0.03, 0.01, 0.5]).tolist()
        [0.06, 0.03, 0.5]
    """
    raw = check_sample(p_values, "The list of p-values")
    if raw.min() < 0 or raw.max() > 1:
        raise DataError(f"The p-values range from {raw.min():g} to {raw.max():g}; expected 0 to 1.")
    order = np.argsort(raw, kind="stable")
    stepped = np.maximum.accumulate(raw[order] * np.arange(len(raw), 0, -1))
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(stepped, 1)
    return adjusted


def _wins(ours: Floats, theirs: Floats) -> float:
    """The pairs in which ours is the greater one, ties counting half."""
    ranked = np.sort(theirs)
    below = np.searchsorted(ranked, ours, side="left")
    up_to = np.searchsorted(ranked, ours, side="right")
    return float((below + up_to).sum() / 2)
