"""Priors: draws, search boxes, and the way between."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from diffgan.generators.priors import NormalPrior, UniformPrior


def test_a_uniform_prior_is_its_own_search_box() -> None:
    prior = UniformPrior(low=-2, high=1)
    points = np.array([[-2.0, 0.5, 1.0]])
    assert list(prior.bounds) == [-2, 1]
    assert prior.to_latents(points).tolist() == points.tolist()
    drawn = prior.sample(5000, 3, np.random.default_rng(0))
    assert drawn.dtype == np.float32
    assert drawn.min() >= -2
    assert drawn.max() <= 1
    assert abs(drawn.mean() + 0.5) < 0.05


def test_a_normal_prior_is_searched_in_the_unit_cube() -> None:
    prior = NormalPrior()
    assert list(prior.bounds) == [0, 1]
    # The quartiles of the standard normal distribution.
    latents = prior.to_latents(np.array([[0.25, 0.5, 0.75, 0.975]]))
    assert np.allclose(latents, [[-0.67449, 0, 0.67449, 1.95996]], atol=1e-4)


def test_the_faces_of_the_cube_are_finite() -> None:
    assert np.isfinite(NormalPrior().to_latents(np.array([[0.0, 1.0]]))).all()


@given(st.lists(st.floats(-4, 4), min_size=1, max_size=5))
def test_points_stand_for_their_latents(values: list[float]) -> None:
    latents = np.array([values], dtype=np.float32)
    for prior in (NormalPrior(), UniformPrior(low=-4, high=4)):
        assert np.allclose(prior.to_latents(prior.to_points(latents)), latents, atol=1e-4)


def test_a_seed_gives_the_same_latents() -> None:
    for prior in (NormalPrior(), UniformPrior()):
        one, two = (prior.sample(4, 7, np.random.default_rng(3)) for _ in range(2))
        assert np.array_equal(one, two)


def test_a_box_that_does_not_rise_is_refused() -> None:
    with pytest.raises(ValidationError, match="must rise"):
        UniformPrior(low=1, high=1)
