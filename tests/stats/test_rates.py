"""Validity, improvement, variation, and the signed-rank test."""

from __future__ import annotations

import math

import numpy as np
import pytest

from diffgan.errors import DataError
from diffgan.stats import coefficient_of_variation, improvement, validity_share, wilcoxon


def test_validity_has_an_interval() -> None:
    # Wilson, 8 of 10 with z = 1.96: (0.8 + 0.19208 ± 1.96 · sqrt(0.016 + 0.009604)) / 1.38416
    share = validity_share([True] * 8 + [False] * 2)
    assert (share.estimate, share.low, share.high) == pytest.approx((0.8, 0.4902, 0.9433), abs=1e-4)


def test_validity_wants_verdicts_and_no_scores() -> None:
    with pytest.raises(DataError, match="of type float64"):
        validity_share([0.3, 0.9])
    with pytest.raises(DataError, match="make no proportion"):
        validity_share(np.empty(0, dtype=np.bool_))


def test_improvement_is_the_papers() -> None:
    assert improvement(found=4932, initial=82) == pytest.approx(59.146, abs=1e-3)
    assert improvement(found=41, initial=82) == -0.5
    with pytest.raises(DataError, match="holds no trigger"):
        improvement(found=5, initial=0)


def test_variation_is_of_a_sample() -> None:
    # Mean 5, squares 9 + 1 + 1 + 9 over 3.
    assert coefficient_of_variation([2, 4, 6, 8]) == pytest.approx(math.sqrt(20 / 3) / 5)
    with pytest.raises(DataError, match="2 or more"):
        coefficient_of_variation([3])
    with pytest.raises(DataError, match="mean above 0"):
        coefficient_of_variation([-1, 1])


def test_wilcoxon_by_hand() -> None:
    # Differences -1, 2, 3, 4, 5: the smaller sum of ranks is 1; of 32 signings, 2 have at most that; two-sided, 4.
    assert wilcoxon([0, 2, 3, 4, 5], [1, 0, 0, 0, 0]).statistic == 1
    assert wilcoxon([0, 2, 3, 4, 5], [1, 0, 0, 0, 0]).p == pytest.approx(4 / 32)


def test_wilcoxon_leaves_equal_pairs_out() -> None:
    assert wilcoxon([3, 5, 7, 9, 1], [2, 3, 4, 5, 1]) == wilcoxon([3, 5, 7, 9], [2, 3, 4, 5])
    assert wilcoxon([1, 2], [1, 2]).p == 1


def test_wilcoxon_approximates_where_differences_tie() -> None:
    # Six differences of 1: R = 21, mean 10.5, variance 6·7·13/24 less (6³ - 6)/48 for the ties; ½ for continuity.
    tied = wilcoxon([1] * 6, [0] * 6)
    z = (10.5 - 0.5) / math.sqrt(22.75 - 4.375)
    assert not tied.exact
    assert tied.p == pytest.approx(math.erfc(z / math.sqrt(2)))


def test_wilcoxon_wants_pairs() -> None:
    with pytest.raises(DataError, match="3 and 2 values"):
        wilcoxon([1, 2, 3], [1, 2])
