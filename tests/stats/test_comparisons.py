"""Tests and effect sizes against values worked out by hand, and against statsmodels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from diffgan.errors import DataError
from diffgan.stats import holm, mann_whitney, mcnemar, vargha_delaney

samples = st.lists(st.integers(0, 6), min_size=1, max_size=12)


def test_golden_vargha_delaney() -> None:
    # (3, 5) against (1, 3, 4): 3 beats 1 and ties with 3, 5 beats all: (1 + 0.5 + 3) / 6 = 0.75.
    assert vargha_delaney([3, 5], [1, 3, 4]) == 0.75
    assert vargha_delaney([1, 1], [1]) == 0.5


@settings(deadline=None)
@given(samples, samples)
def test_a12_counts_pairs_and_mirrors(first: list[int], second: list[int]) -> None:
    pairs = [(a > b) + 0.5 * (a == b) for a in first for b in second]
    assert vargha_delaney(first, second) == pytest.approx(np.mean(pairs))
    assert vargha_delaney(first, second) + vargha_delaney(second, first) == pytest.approx(1)


def test_golden_mann_whitney() -> None:
    # U = 1 of 9: of the 20 equally likely orders, 1 has U = 0 and 1 has U = 1: p = 2 · 2/20 = 0.2, exactly.
    result = mann_whitney([1, 2, 4], [3, 5, 6])
    assert (result.statistic, result.exact) == (1, True)
    assert result.p == pytest.approx(0.2)
    # Ten against ten, all greater: 2 / C(20, 10) = 2/184756; the normal approximation would say 1.8e-4.
    assert mann_whitney(range(10, 20), range(10)).p == pytest.approx(2 / 184756)


def test_mann_whitney_with_ties_is_the_corrected_normal_approximation() -> None:
    # (1, 2) against (2, 3): U = 0.5, mean 2. Ties: one group of 2 among n = 4, so the variance is
    # 2·2/12 · (5 - (2³ - 2)/(4·3)) = 1/3 · 4.5 = 1.5. z = (2 - 0.5 - 0.5)/√1.5 = 0.81650: p = 0.41422.
    result = mann_whitney([1, 2], [2, 3])
    assert (result.statistic, result.exact) == (0.5, False)
    assert result.p == pytest.approx(0.41422, abs=1e-5)


def test_mann_whitney_of_equal_values_finds_nothing() -> None:
    assert mann_whitney([4, 4, 4], [4, 4]).p == 1
    assert mann_whitney([4], [4]).statistic == 0.5


def test_a_large_sample_is_not_exact() -> None:
    assert not mann_whitney(np.arange(51), np.arange(51, 60)).exact


@settings(deadline=None)
@given(samples, samples)
def test_mann_whitney_is_symmetric_and_u_belongs_to_a12(first: list[int], second: list[int]) -> None:
    result, mirrored = mann_whitney(first, second), mann_whitney(second, first)
    assert result.p == pytest.approx(mirrored.p)
    assert result.statistic == pytest.approx(vargha_delaney(first, second) * len(first) * len(second))


def test_golden_mcnemar() -> None:
    # 2 against 8: 2 · (1 + 10 + 45) / 2^10 = 112/1024 = 0.109375.
    exact = mcnemar(2, 8)
    assert (exact.statistic, exact.exact) == (2, True)
    assert exact.p == pytest.approx(0.109375)
    # 10 against 15 (25 discordant): (5 - 1)²/25 = 0.64, and P(χ² > 0.64) = 2 · P(Z > 0.8) = 0.42371.
    approximate = mcnemar(10, 15)
    assert (approximate.statistic, approximate.exact) == (0.64, False)
    assert approximate.p == pytest.approx(0.42371, abs=1e-5)


def test_mcnemar_without_a_difference() -> None:
    assert [mcnemar(count, count).p for count in (0, 5, 40)] == [1, 1, 1]


@settings(deadline=None)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_agrees_with_statsmodels(only_first: int, only_second: int) -> None:
    from statsmodels.stats.contingency_tables import mcnemar as reference

    if only_first == only_second:
        return  # statsmodels does not stop its continuity correction at 0: (|0| - 1)² = 1
    exact = only_first + only_second < 25
    expected = reference([[0, only_first], [only_second, 0]], exact=exact, correction=True)
    assert mcnemar(only_first, only_second).p == pytest.approx(expected.pvalue)


def test_golden_holm() -> None:
    # Sorted .01 .02 .03 .04, times 4 3 2 1: .04 .06 .06 .04, and none less than the one before: .04 .06 .06 .06.
    assert holm([0.04, 0.01, 0.03, 0.02]).tolist() == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([0.9, 0.8]).tolist() == [1, 1]


@settings(deadline=None)
@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_holm_agrees_with_statsmodels(p_values: list[float]) -> None:
    from statsmodels.stats.multitest import multipletests

    np.testing.assert_allclose(holm(p_values), multipletests(p_values, method="holm")[1], atol=1e-12)


def test_broken_input_is_refused() -> None:
    for test in (mann_whitney, vargha_delaney):
        with pytest.raises(DataError, match="The second sample is empty"):
            test([1], [])
        with pytest.raises(DataError, match="The first sample holds 1 values that are NaN"):
            test([float("nan")], [1])
    with pytest.raises(DataError, match=r"range from 0\.1 to 1\.5"):
        holm([0.1, 1.5])
    with pytest.raises(DataError, match="list of p-values is empty"):
        holm([])
    with pytest.raises(DataError, match="is -1; expected a whole number"):
        mcnemar(-1, 2)
