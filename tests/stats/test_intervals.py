"""Quantiles, the bootstrap and Wilson's interval against values worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from diffgan.errors import DataError, UsageError
from diffgan.stats import bootstrap_interval, mean, median, quantile, wilson_interval

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=20)


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def test_golden_quantiles() -> None:
    # Sorted 1 2 4 8, places 0 to 3. Share 0.05: place 0.15, 1 + 0.15 · (2 - 1) = 1.15.
    # Share 0.75: place 2.25, 4 + 0.25 · (8 - 4) = 5.
    assert quantile([8, 1, 4, 2], 0.05) == pytest.approx(1.15)
    assert quantile([8, 1, 4, 2], 0.75) == 5
    assert [quantile([8, 1, 4, 2], share) for share in (0, 1)] == [1, 8]


@settings(deadline=None)
@given(numbers, st.floats(0, 1))
def test_a_quantile_lies_within_the_sample(values: list[float], share: float) -> None:
    assert min(values) <= quantile(values, share) <= max(values)


def test_golden_bootstrap_of_two_values() -> None:
    # Means of two draws from {0, 1}: 0, 1/2, 1 with chances 1/4, 1/2, 1/4. The middle 40 % (from the 30 % to the 70 %
    # quantile) is 1/2 alone; the middle 95 % reaches from 0 to 1.
    narrow = bootstrap_interval([0, 1], mean, rng=rng(), level=0.4)
    assert (narrow.estimate, narrow.low, narrow.high) == (0.5, 0.5, 0.5)
    wide = bootstrap_interval([0, 1], mean, rng=rng())
    assert (wide.low, wide.high) == (0, 1)


def test_the_median_is_the_default_and_the_seed_decides() -> None:
    values = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3]
    first, second = bootstrap_interval(values, rng=rng()), bootstrap_interval(values, median, rng=rng())
    assert first == second
    assert first.estimate == 3.5
    assert first.low <= first.estimate <= first.high


def test_the_bootstrap_of_a_mean_agrees_with_theory() -> None:
    # 0 … 99 have mean 49.5 and variance (100² - 1)/12 = 833.25: half a width of 1.96 · √(833.25/100) = 5.66.
    interval = bootstrap_interval(np.arange(100), mean, rng=rng())
    assert interval.low == pytest.approx(49.5 - 5.66, abs=0.3)
    assert interval.high == pytest.approx(49.5 + 5.66, abs=0.3)


def test_pairs_are_drawn_whole() -> None:
    pairs = np.array([[1, 1], [2, 2], [7, 7]])

    def agreement(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray((resamples[:, :, 0] == resamples[:, :, 1]).mean(axis=1))

    interval = bootstrap_interval(pairs, agreement, rng=rng(), resamples=200)
    assert (interval.low, interval.high) == (1, 1)


def test_a_large_sample_is_resampled_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffgan.stats.intervals._BLOCK_VALUES", 25)
    sizes: list[int] = []

    def watched(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
        sizes.append(len(resamples))
        return mean(resamples)

    bootstrap_interval(np.arange(10), watched, rng=rng(), resamples=5)
    assert sizes == [1, 2, 2, 1]


def test_golden_wilson() -> None:
    # 5 of 10, z = 1.95996: z² = 3.84146. Centre (0.5 + 3.84146/20) / 1.384146 = 0.5; half a width
    # 1.95996/1.384146 · √(0.25/10 + 3.84146/400) = 1.41600 · √0.03460365 = 0.26341.
    half = wilson_interval(5, 10)
    assert [half.low, half.high] == pytest.approx([0.23659, 0.76341], abs=2e-5)
    # 0 of 10: from 0 to z²/(n + z²) = 3.84146/13.84146 = 0.27753.
    none = wilson_interval(0, 10)
    assert none.low == 0
    assert none.high == pytest.approx(0.27753, abs=1e-5)


@settings(deadline=None)
@given(st.integers(1, 1000), st.data())
def test_wilson_holds_the_share_and_mirrors(trials: int, data: st.DataObject) -> None:
    won = data.draw(st.integers(0, trials))
    interval, mirrored = wilson_interval(won, trials), wilson_interval(trials - won, trials)
    assert 0 <= interval.low <= interval.estimate <= interval.high <= 1
    assert interval.low == pytest.approx(1 - mirrored.high)


def test_wilson_agrees_with_statsmodels() -> None:
    from statsmodels.stats.proportion import proportion_confint

    expected = proportion_confint(138, 268, alpha=0.1, method="wilson")
    interval = wilson_interval(138, 268, level=0.9)
    assert (interval.low, interval.high) == pytest.approx(expected)


def test_broken_input_is_refused() -> None:
    with pytest.raises(DataError, match="The sample is empty"):
        quantile([], 0.5)
    with pytest.raises(DataError, match="1 values that are NaN"):
        quantile([1, float("nan")], 0.5)
    with pytest.raises(DataError, match="not a number"):
        quantile(["a"], 0.5)
    with pytest.raises(DataError, match=r"shape \(1, 2\)"):
        quantile([[1, 2]], 0.5)
    for share in (-0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="expected a number from 0 to 1"):
            quantile([1], share)
    with pytest.raises(DataError, match="11 successes of 10 trials"):
        wilson_interval(11, 10)
    with pytest.raises(DataError, match="0 successes of 0 trials"):
        wilson_interval(0, 0)
    with pytest.raises(UsageError, match="level is 95"):
        wilson_interval(1, 2, level=95)


def test_a_broken_bootstrap_is_refused() -> None:
    with pytest.raises(DataError, match="The sample is empty"):
        bootstrap_interval([], rng=rng())
    with pytest.raises(UsageError, match="0 resamples"):
        bootstrap_interval([1], rng=rng(), resamples=0)
    with pytest.raises(DataError, match="reduce every axis but the first"):
        bootstrap_interval([1, 2], lambda resamples: resamples, rng=rng())
    with pytest.raises(DataError, match="gave NaN"):
        bootstrap_interval([1, 2], lambda resamples: resamples[:, 0] * np.nan, rng=rng())
