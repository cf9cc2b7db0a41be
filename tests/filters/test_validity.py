"""The validity of a whole archive from some labels: golden values by hand, the paper's sample sizes, coverage."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffgan.errors import DataError, UsageError
from diffgan.filters.validity import finite_wilson, labels_needed, sampling_doubts, validity_ratio
from diffgan.stats import wilson_interval


def test_golden_interval_of_a_finite_population() -> None:
    # 200 of 400 from 1,000: z² (N - n)/(N - 1) = 3.84146 · 600/999 = 2.30718. Half the width is
    # √2.30718 / (1 + 2.30718/400) · √(0.25/400 + 2.30718/(4 · 400²)) = 0.03787.
    interval = finite_wilson(200, 400, 1000)
    assert (interval.estimate, interval.level) == (0.5, 0.95)
    assert (interval.low, interval.high) == pytest.approx((0.5 - 0.03787, 0.5 + 0.03787), abs=1e-5)


def test_the_correction_goes_from_none_to_all() -> None:
    plain = wilson_interval(30, 100)
    endless = finite_wilson(30, 100, 10**9)
    assert (endless.low, endless.high) == pytest.approx((plain.low, plain.high), abs=1e-6)
    whole = finite_wilson(30, 100, 100)
    assert (whole.low, whole.high) == (0.3, 0.3)
    assert finite_wilson(1, 1, 1).low == 1


@given(st.integers(1, 300), st.data())
def test_the_interval_is_possible_and_holds_the_estimate(population: int, data: st.DataObject) -> None:
    sample = data.draw(st.integers(1, population))
    valid = data.draw(st.integers(0, sample))
    interval = finite_wilson(valid, sample, population)
    assert valid / population <= interval.low <= valid / sample <= interval.high
    assert interval.high <= (population - sample + valid) / population
    plain = wilson_interval(valid, sample)
    assert plain.low - 1e-12 <= interval.low
    assert interval.high <= plain.high + 1e-12


def test_nineteen_of_twenty_intervals_hold_the_truth() -> None:
    rng = np.random.default_rng(5)
    population = np.arange(1000) < 300
    hits = 0
    for _ in range(1000):
        valid = int(rng.choice(population, 200, replace=False).sum())
        interval = finite_wilson(valid, 200, 1000)
        hits += interval.low <= 0.3 <= interval.high
    assert 930 <= hits <= 975


def test_golden_numbers_of_labels() -> None:
    # 1.96² · 0.25 / 0.05² = 384.15 without end, so 385.
    assert labels_needed(0.05) == 385
    # 384.15 / (1 + 383.15/N), for N 100, 1,000, 10,000.
    assert [labels_needed(0.05, population=size) for size in (100, 1_000, 10_000)] == [80, 278, 370]
    # The paper drew 364 to 384: what archives of 6,850 to 600,000 triggers ask for.
    assert labels_needed(0.05, population=6_850) == 364
    assert labels_needed(0.05, population=600_000) == 384
    # At 0.9, 3.84146 · 0.09 / 0.0025 = 138.3; at 0.1 the same.
    assert labels_needed(0.05, share=0.9) == labels_needed(0.05, share=0.1) == 139
    assert [labels_needed(0.05, population=size) for size in (0, 1, 2)] == [0, 1, 2]


@given(st.integers(1, 100_000), st.floats(0.01, 0.3))
def test_so_many_labels_do_give_the_margin(population: int, margin: float) -> None:
    needed = labels_needed(margin, population=population)
    interval = finite_wilson(needed // 2, needed, population)
    assert (interval.high - interval.low) / 2 <= margin + 1e-9


def test_what_more_labels_are_for() -> None:
    # Wilson's for 90 of 100 from 10,000 begins at 0.826 and so asks for more than 0.9 itself would.
    ratio = validity_ratio(90, 100, 10_000)
    assert ratio.share is not None
    assert ratio.share.low == pytest.approx(0.826, abs=1e-3)
    assert ratio.needed == 370
    assert ratio.needed_here == labels_needed(0.05, population=10_000, share=ratio.share.low)
    assert 139 < ratio.needed_here < 370
    assert validity_ratio(50, 100, 10_000).needed_here == 370
    assert f"{ratio.needed_here} labels" in str(ratio)


def test_no_labels_all_labels_one_label() -> None:
    none = validity_ratio(0, 0, 500)
    assert (none.share, none.needed, none.needed_here) == (None, 218, 218)
    assert "unknown" in str(none)
    whole = validity_ratio(500, 500, 500)
    assert whole.share is not None
    assert (whole.share.low, whole.share.high) == (1, 1)
    assert whole.needed_here <= 500
    one = validity_ratio(0, 1, 500)
    assert one.share is not None
    assert (one.share.low, one.share.high) == pytest.approx((0, 0.793), abs=2e-3)
    assert validity_ratio(0, 0, 0).needed == 0
    for ratio in (none, whole, one):
        json.dumps(ratio.as_json(), allow_nan=False)


@pytest.mark.parametrize("numbers", [(2, 1, 5), (1, 6, 5), (-1, 3, 5)])
def test_numbers_that_do_not_fit_are_refused(numbers: tuple[int, int, int]) -> None:
    with pytest.raises(DataError, match="do not fit"):
        validity_ratio(*numbers)
    with pytest.raises(DataError):
        finite_wilson(*numbers)


@pytest.mark.parametrize("margin", [0.0, 1.0, math.nan])
def test_margins_and_shares_out_of_range_are_refused(margin: float) -> None:
    with pytest.raises(UsageError, match="between 0 and 1"):
        labels_needed(margin)
    with pytest.raises(UsageError, match="between 0 and 1"):
        labels_needed(0.05, share=1.0)


def test_a_random_sample_raises_no_doubt() -> None:
    rng = np.random.default_rng(2)
    scores, kept = rng.normal(size=3000), rng.random(3000) < 0.4
    for _ in range(20):
        labelled = np.isin(np.arange(3000), rng.choice(3000, 300, replace=False))
        assert sampling_doubts(labelled, kept=kept, scores=scores) == ()


def test_samples_that_are_not_random_are_doubted() -> None:
    rng = np.random.default_rng(2)
    scores = rng.normal(size=3000)
    kept = scores > 0
    order = np.arange(3000)
    assert "order of discovery" in sampling_doubts(order < 300)[0]
    only_kept = kept & (order % 5 == 0)
    assert sampling_doubts(only_kept, kept=kept) == ("only triggers that the filters kept are labelled",)
    assert "dropped" in sampling_doubts(~kept & (order % 5 == 0), kept=kept)[0]
    mostly = (kept & (order % 5 == 0)) | (~kept & (order % 20 == 0))
    assert "but 5" in sampling_doubts(mostly, kept=kept)[0] or "but 4" in sampling_doubts(mostly, kept=kept)[0]
    doubts = sampling_doubts(only_kept, kept=kept, scores=scores)
    assert len(doubts) == 2
    assert "scores" in doubts[1]
    assert "may not be random" in str(validity_ratio(200, 300, 3000, doubts=doubts))


@pytest.mark.parametrize("count", [0, 1, 2, 10])
def test_few_or_all_or_no_triggers_raise_no_doubt(count: int) -> None:
    for labelled in (np.ones(count, dtype=bool), np.zeros(count, dtype=bool), np.arange(count) == 0):
        assert sampling_doubts(labelled, kept=np.ones(count, dtype=bool), scores=np.full(count, np.nan)) == ()
