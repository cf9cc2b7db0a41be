"""Ranks, crowding and tournaments: pymoo's results, at the price of a sort."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pymoo.core.population import Population as PymooPopulation
from pymoo.core.problem import Problem
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding
from pymoo.operators.survival.rank_and_crowding.metrics import calc_crowding_distance
from pymoo.util.nds.non_dominated_sorting import NonDominatedSorting

from diffgan.search.strategies.survival import best_first, crowding_distances, front_ranks, tournament

Floats = NDArray[np.float64]


@st.composite
def objectives(draw: st.DrawFn) -> Floats:
    """Random, or on a coarse grid, where there are ties and copies."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    values = rng.random((draw(st.integers(1, 120)), 2))
    levels = draw(st.sampled_from([0, 2, 5, 20]))
    return np.floor(values * levels) if levels else values


@given(objectives())
def test_fronts_are_pymoos(values: Floats) -> None:
    _, expected = NonDominatedSorting().do(-values, return_rank=True)
    assert np.array_equal(front_ranks(values), expected)


@given(objectives())
def test_crowding_is_pymoos(values: Floats) -> None:
    ranks = front_ranks(values)
    crowding = crowding_distances(values, ranks)
    for rank in np.unique(ranks):
        front = ranks == rank
        expected = np.full(front.sum(), np.inf) if front.sum() <= 2 else calc_crowding_distance(values[front])
        assert np.allclose(crowding[front], expected)


def test_a_front_worked_out_by_hand() -> None:
    values = np.array([[0.0, 4.0], [1.0, 3.0], [2.0, 1.0], [4.0, 0.0], [0.0, 0.0]])
    ranks = front_ranks(values)
    assert ranks.tolist() == [0, 0, 0, 0, 1]
    # (1, 3) lies between (0, 4) and (2, 1): (2/4 + 3/4) / 2; (2, 1) between (1, 3) and (4, 0): (3/4 + 3/4) / 2.
    assert crowding_distances(values, ranks).tolist() == [np.inf, 0.625, 0.75, np.inf, np.inf]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("keep", [10, 50, 99])
def test_the_same_survive_as_with_pymoo(seed: int, keep: int) -> None:
    values = np.random.default_rng(seed).random((100, 2))
    population = PymooPopulation.new(X=np.arange(100.0)[:, None], F=-values)
    survivors = RankAndCrowding().do(
        Problem(n_var=1, n_obj=2), population, n_survive=keep, random_state=np.random.default_rng(0)
    )
    ranks = front_ranks(values)
    crowding = crowding_distances(values, ranks)
    order = best_first(ranks, crowding, np.random.default_rng(1))
    different = set(order[:keep].tolist()) ^ set(survivors.get("X")[:, 0].astype(int).tolist())
    # Both draw lots among equals, such as the two ends of a front of which one still has room.
    last = order[keep - 1]
    assert {(ranks[row], crowding[row]) for row in different} <= {(ranks[last], crowding[last])}
    assert len(different) <= 2


def test_a_tournament_is_won_by_dominance_then_by_standing_alone() -> None:
    values = np.array([[1.0, 1.0], [0.0, 0.0]])
    assert not tournament(values, np.array([0.0, 9.0]), 400, np.random.default_rng(0)).any()
    level = np.array([[1.0, 0.0], [0.0, 1.0]])
    assert tournament(level, np.array([1.0, np.inf]), 400, np.random.default_rng(0)).all()


def test_even_opponents_draw_lots() -> None:
    level = np.array([[1.0, 0.0], [0.0, 1.0]])
    for crowding in (np.array([np.inf, np.inf]), np.array([0.5, 0.5])):
        winners = tournament(level, crowding, 2000, np.random.default_rng(1))
        assert 0.45 < winners.mean() < 0.55


def test_everybody_plays_equally_often() -> None:
    values = np.random.default_rng(2).random((40, 2))
    winners = tournament(values, crowding_distances(values, front_ranks(values)), 40, np.random.default_rng(3))
    # 40 tournaments of two among 40: everybody plays twice, so nobody wins more than twice.
    assert np.bincount(winners).max() <= 2


def test_a_population_of_one_is_ranked() -> None:
    one = np.array([[0.3, 0.4]])
    assert front_ranks(one).tolist() == [0]
    assert crowding_distances(one, front_ranks(one)).tolist() == [np.inf]
    assert tournament(one, np.array([np.inf]), 3, np.random.default_rng(0)).tolist() == [0, 0, 0]
