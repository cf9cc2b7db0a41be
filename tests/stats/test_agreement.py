"""Kappas of published examples, worked out by hand, and what is undefined."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from diffgan.errors import DataError, UsageError
from diffgan.stats.agreement import Kappa, cohen_kappa, fleiss_kappa
from diffgan.stats.intervals import bootstrap_interval


def rated(table: Sequence[Sequence[int]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The ratings of two raters, from how often one said the row and the other the column."""
    counts = np.array(table)
    first, second = np.indices(counts.shape)
    return np.repeat(first.ravel(), counts.ravel()), np.repeat(second.ravel(), counts.ravel())


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize(
    ("table", "observed", "expected"),
    [
        # Cohen (1960), table 1, of 200: .25 + .02 + .02, and .5 · .4 + .3 · .3 + .2 · .3; kappa is -.06 / .65 = -.092.
        ([[50, 26, 24], [24, 4, 32], [6, 30, 4]], 0.29, 0.35),
        # Feinstein and Cicchetti (1990): as often the same, yet .70 where both use both categories alike:
        # .85, and .49 · .46 + .51 · .54 = .5008; kappa is .3492 / .4992 = .6995
        ([[40, 9], [6, 45]], 0.85, 0.5008),
        # and .32 where both mostly say yes: .85, and .9 · .85 + .1 · .15 = .78; kappa is .07 / .22 = .3182.
        ([[80, 10], [5, 5]], 0.85, 0.78),
        ([[20, 5], [10, 15]], 0.7, 0.5),  # 35 of 50, and .5 · .6 + .5 · .4
    ],
)
def test_golden_values_of_two_raters(table: Sequence[Sequence[int]], observed: float, expected: float) -> None:
    found = cohen_kappa(*rated(table))
    assert found.items == np.sum(table)
    assert found.observed == pytest.approx(observed)
    assert found.expected == pytest.approx(expected)
    assert found.kappa == pytest.approx((observed - expected) / (1 - expected))


def test_published_values_of_two_raters() -> None:
    tables = ([[50, 26, 24], [24, 4, 32], [6, 30, 4]], [[40, 9], [6, 45]], [[80, 10], [5, 5]])
    assert [round(cohen_kappa(*rated(table)).kappa or 9, 2) for table in tables] == [-0.09, 0.70, 0.32]


# Fleiss' statistic on the well-known table of 10 items, 14 ratings each, in 5 categories.
TEN = [
    [0, 0, 0, 0, 14],
    [0, 2, 6, 4, 2],
    [0, 0, 3, 5, 6],
    [0, 3, 9, 2, 0],
    [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0],
    [3, 2, 6, 3, 0],
    [2, 5, 3, 2, 2],
    [6, 5, 2, 1, 0],
    [0, 2, 2, 3, 7],
]


def test_golden_value_of_several_raters() -> None:
    # Equal pairs of 91: 91, 23, 28, 40, 30, 42, 22, 16, 26 and 26 sum to 344 of 910. The categories were used 20, 28,
    # 39, 21 and 32 times of 140: 400 + 784 + 1521 + 441 + 1024 = 4170 of 19600.
    found = fleiss_kappa(TEN)
    assert found.items == 10
    assert found.observed == pytest.approx(344 / 910)
    assert found.expected == pytest.approx(4170 / 19600)
    assert found.kappa == pytest.approx(0.2099, abs=5e-5)


def test_two_ratings_each_by_hand() -> None:
    # Equal in 2 of 3; of 6 ratings, 3 of each category: expected .5; kappa is (2/3 - 1/2) / (1/2).
    assert fleiss_kappa([[2, 0], [0, 2], [1, 1]]).kappa == pytest.approx(1 / 3)


def test_texts_and_other_numbers_are_categories_too() -> None:
    assert cohen_kappa(["a", "a", "b", "b"], ["a", "b", "b", "b"]).kappa == pytest.approx(0.5)
    assert cohen_kappa([True, True, False, False], [1, 0, 0, 0]).kappa == pytest.approx(0.5)
    assert cohen_kappa([-1, -1, 7, 7], [-1, 7, 7, 7]).kappa == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        (cohen_kappa([], [], rng=rng()), Kappa(0, None, None, None, None)),
        (fleiss_kappa(np.zeros((0, 3), dtype=int), rng=rng()), Kappa(0, None, None, None, None)),
        (cohen_kappa([4, 4, 4], [4, 4, 4], rng=rng()), Kappa(3, 1.0, 1.0, None, None)),
        (fleiss_kappa([[0, 3], [0, 3]], rng=rng()), Kappa(2, 1.0, 1.0, None, None)),
        (cohen_kappa([4], [4], rng=rng()), Kappa(1, 1.0, 1.0, None, None)),
        (cohen_kappa([4], [5], rng=rng()), Kappa(1, 0.0, 0.0, 0.0, None)),
        # One rater always says the same: the other agrees as chance has it.
        (cohen_kappa([1, 1, 1, 1], [1, 0, 1, 0]), Kappa(4, 0.5, 0.5, 0.0, None)),
        # Two ratings, always different: equal by chance in half of the cases.
        (fleiss_kappa([[1, 1]], rng=rng()), Kappa(1, 0.0, 0.5, -1.0, None)),
    ],
)
def test_what_is_undefined_says_so(found: Kappa, wanted: Kappa) -> None:
    assert found == wanted


def test_the_interval_is_the_percentile_bootstrap_over_items() -> None:
    first, second = rated([[40, 9], [6, 45]])
    found = cohen_kappa(first, second, rng=rng(), resamples=20_000).interval
    pairs = np.stack([first, second], axis=1)

    def kappas(resamples: NDArray[np.float64]) -> NDArray[np.float64]:
        observed = (resamples[..., 0] == resamples[..., 1]).mean(axis=1)
        one, other = resamples.mean(axis=1).T
        expected = one * other + (1 - one) * (1 - other)
        return np.asarray((observed - expected) / (1 - expected))

    plain = bootstrap_interval(pairs, kappas, rng=rng(1), resamples=20_000)
    assert found is not None
    assert found.estimate == pytest.approx(plain.estimate)
    assert [found.low, found.high] == pytest.approx([plain.low, plain.high], abs=0.01)


def test_the_same_generator_gives_the_same_interval() -> None:
    once, again = (fleiss_kappa(TEN, rng=rng(3), level=0.9).interval for _ in range(2))
    assert once == again
    assert once is not None
    assert once.low < 0.2099 < once.high


def test_resamples_without_a_kappa_widen_the_interval() -> None:
    # 49 equal, 1 not: in (49/50)^50 = 36 % of the resamples, only one category is left.
    found = cohen_kappa([1] * 50, [1] * 49 + [0], rng=rng()).interval
    assert found is not None
    assert (found.low, found.high) == (-1, 1)


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30), st.permutations(range(4)))
def test_names_and_order_do_not_matter(pairs: list[tuple[int, int]], names: list[int]) -> None:
    first, second = np.array(pairs).T
    found, swapped = cohen_kappa(first, second), cohen_kappa(second, first)
    renamed = cohen_kappa(np.array(names)[first][::-1], np.array(names)[second][::-1])
    for other in (swapped, renamed):
        assert found.kappa == (None if other.kappa is None else pytest.approx(other.kappa))
    if found.kappa is not None:
        assert -1 - 1e-9 <= found.kappa <= 1 + 1e-9
        assert (found.kappa == pytest.approx(1)) == bool((first == second).all())


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([1, 2], [1], "2 ratings and the second 1"),
        ([[1, 2]], [[1, 2]], "shape"),
        ([0.5, 1], [1, 1], "float64"),
        ([1, 2], ["a", "b"], "name them alike"),
    ],
)
def test_ratings_that_do_not_fit_are_refused(first: ArrayLike, second: ArrayLike, said: str) -> None:
    with pytest.raises(DataError, match=said):
        cohen_kappa(first, second)


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ([[2, 0], [1, 2]], "2 to 3 ratings"),
        ([[1, 0]], "at least 2"),
        ([[-1, 3]], "from 0"),
        ([2, 1], "shape"),
        ([[0.5, 1.5]], "float64"),
        ([[1], [1, 1]], "no table"),
    ],
)
def test_counts_that_are_no_table_are_refused(counts: ArrayLike, said: str) -> None:
    with pytest.raises(DataError, match=said):
        fleiss_kappa(counts)


def test_levels_and_resamples_out_of_range_are_refused() -> None:
    with pytest.raises(UsageError):
        cohen_kappa([1], [1], level=1)
    with pytest.raises(UsageError, match="0 resamples"):
        fleiss_kappa(TEN, resamples=0)
