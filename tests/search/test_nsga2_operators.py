"""Offspring: bounded, and distributed as pymoo's and as the equations say."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from pymoo.operators.crossover.sbx import cross_sbx
from pymoo.operators.mutation.pm import mut_pm
from scipy.stats import ks_2samp

from diffgan.search.strategies.operators import crossed, mutated, mutated_classes

_DRAWS = 20_000
Points = NDArray[np.float32]


def repeated(value: float, shape: tuple[int, int] = (_DRAWS, 1)) -> Points:
    return np.full(shape, value, dtype=np.float32)


@pytest.mark.parametrize(("one", "other"), [(-0.2, 0.5), (0.5, -0.2), (-0.99, 0.9), (0.999, 1.0), (-1.0, 1.0)])
@pytest.mark.parametrize("eta", [3.0, 15.0])
def test_crossover_is_distributed_as_pymoos(one: float, other: float, eta: float) -> None:
    ours = crossed(
        repeated(one), repeated(other), np.random.default_rng(1), bounds=(-1, 1), rate=1, gene_rate=1, eta=eta
    )
    theirs = cross_sbx(
        np.stack([repeated(one), repeated(other)]).astype(float),
        np.array([-1.0]),
        np.array([1.0]),
        np.full((_DRAWS, 1), eta),
        1.0,
        np.full((_DRAWS, 1), 0.5),
        random_state=np.random.default_rng(2),
    )
    for mine, pymoos in zip(ours, theirs, strict=True):
        assert ks_2samp(mine[:, 0], pymoos[:, 0]).pvalue > 0.001


def test_far_from_the_bounds_crossover_is_the_papers_equation() -> None:
    # o1 = ((1 + b) v1 + (1 - b) v2) / 2 and its mirror: the sum stays, and |o1 - o2| = b |v1 - v2|, where
    # P(b <= 1) = 1/2 and, for b <= 1, P(b <= x) = x^(eta + 1) / 2.
    eta = 4.0
    first, second = repeated(-0.001), repeated(0.001)
    one, other = crossed(first, second, np.random.default_rng(3), bounds=(-1, 1), rate=1, gene_rate=1, eta=eta)
    assert np.allclose(one + other, 0, atol=1e-6)
    spread = np.abs(one - other)[:, 0] / 0.002
    assert np.mean(spread <= 1) == pytest.approx(0.5, abs=0.015)
    assert np.mean(spread <= 0.9) == pytest.approx(0.9**5 / 2, abs=0.015)
    assert np.mean(spread > 1.2) == pytest.approx(0.5 / 1.2**5, abs=0.015)


def test_so_many_pairs_and_genes_cross() -> None:
    rng = np.random.default_rng(4)
    first, second = repeated(-0.5, (4000, 50)), repeated(0.5, (4000, 50))
    one, other = crossed(first, second, rng, bounds=(-1, 1), rate=0.9, gene_rate=0.5, eta=15)
    moved = (one != first) | (other != second)
    assert np.mean(moved.any(axis=1)) == pytest.approx(0.9, abs=0.02)
    assert np.mean(moved[moved.any(axis=1)]) == pytest.approx(0.5, abs=0.01)


def test_equal_genes_are_handed_on() -> None:
    same = np.random.default_rng(5).uniform(-1, 1, (50, 20)).astype(np.float32)
    one, other = crossed(same, same, np.random.default_rng(6), bounds=(-1, 1), rate=1, gene_rate=1, eta=15)
    assert np.array_equal(one, same)
    assert np.array_equal(other, same)


@pytest.mark.parametrize("value", [-1.0, -0.97, 0.0, 0.6, 1.0])
@pytest.mark.parametrize("eta", [5.0, 20.0])
def test_mutation_is_distributed_as_pymoos(value: float, eta: float) -> None:
    ours = mutated(repeated(value), np.random.default_rng(7), bounds=(-1, 1), gene_rate=1, eta=eta)
    theirs = mut_pm(
        repeated(value).astype(float),
        np.array([-1.0]),
        np.array([1.0]),
        np.full(_DRAWS, eta),
        np.ones(_DRAWS),
        False,
        random_state=np.random.default_rng(8),
    )
    assert ks_2samp(ours[:, 0], theirs[:, 0]).pvalue > 0.001


def test_so_many_genes_mutate() -> None:
    points = repeated(0.1, (2000, 100))
    children = mutated(points, np.random.default_rng(9), bounds=(-1, 1), gene_rate=0.1, eta=20)
    assert np.mean(children != points) == pytest.approx(0.1, abs=0.005)


@given(
    seed=st.integers(0, 2**32),
    bounds=st.sampled_from([(-1.0, 1.0), (0.0, 1.0), (-3.0, 0.5)]),
    eta=st.floats(0, 1000),
    edge=st.booleans(),
)
def test_nothing_leaves_the_box_and_parents_stay(
    seed: int, bounds: tuple[float, float], eta: float, edge: bool
) -> None:
    rng = np.random.default_rng(seed)
    first, second = (rng.uniform(*bounds, (9, 7)).astype(np.float32) for _ in range(2))
    if edge:
        first[::2], second[::3] = bounds
    before = first.copy(), second.copy()
    children = crossed(first, second, rng, bounds=bounds, rate=1, gene_rate=1, eta=eta)
    for points in (*children, mutated(first, rng, bounds=bounds, gene_rate=1, eta=eta)):
        assert points.dtype == np.float32
        assert points.min() >= np.float32(bounds[0])
        assert points.max() <= np.float32(bounds[1])
    assert np.array_equal(first, before[0])
    assert np.array_equal(second, before[1])


def test_classes_are_redrawn_at_their_own_rate() -> None:
    classes = np.zeros(40_000, dtype=np.int64)
    changed = mutated_classes(classes, np.random.default_rng(10), count=10, rate=0.2)
    assert np.mean(changed != 0) == pytest.approx(0.2 * 0.9, abs=0.01)
    assert np.bincount(changed, minlength=10)[1:].min() > 700
