"""Near copies are found, whatever block they are in, and never stand on both sides of a test."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from diffgan.datasets import load_dataset
from diffgan.selection import evaluation, nearness
from diffgan.selection.evaluation import cross_validate
from diffgan.selection.examples import Counts, Examples
from diffgan.selection.nearness import Views, far_from, limits_of, near_groups
from diffgan.selection.networks import train_learned
from diffgan.stats import cosine_distances


def views(vectors: NDArray[np.float64], limit: float = 0.1) -> Views:
    return Views(((limit, vectors),))


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 40), st.integers(1, 40), st.floats(0.001, 0.6))
def test_far_is_what_all_pairs_say(seed: int, count: int, others: int, limit: float) -> None:
    rng = np.random.default_rng(seed)
    ours, theirs = rng.normal(size=(count, 3)), rng.normal(size=(others, 3))
    wanted = (cosine_distances(ours, theirs) > limit).all(axis=1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearness, "_BLOCK", 7)
        assert np.array_equal(far_from(views(ours, limit), views(theirs, limit)), wanted)


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.integers(1, 40), st.floats(0.001, 0.3))
def test_no_two_groups_hold_near_copies(seed: int, count: int, limit: float) -> None:
    vectors = np.random.default_rng(seed).normal(size=(count, 3))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nearness, "_BLOCK", 7)
        groups = near_groups(views(vectors, limit))
    near = cosine_distances(vectors) <= limit
    assert (groups[:, None] == groups[None, :])[near].all()
    assert np.array_equal(groups, connected_components(near, directed=False)[1])


def test_near_in_one_space_is_enough() -> None:
    first = Views(((0.1, np.array([[1.0, 0], [0, 1]])), (0.1, np.array([[1.0, 0], [1, 0]]))))
    seen = Views(((0.1, np.array([[1.0, 0]])), (0.1, np.array([[0, 1.0]]))))
    assert far_from(first, seen).tolist() == [False, True]
    assert near_groups(first).tolist() == [0, 0]


def test_without_anything_seen_all_is_far() -> None:
    assert far_from(views(np.eye(3)), views(np.empty((0, 3)))).all()


def test_noisy_and_moved_copies_of_digits_are_near() -> None:
    data = load_dataset("digits:test")
    learned = train_learned(data)
    limits = limits_of(data.images, learned)
    images = data.images[:100]
    noise = np.random.default_rng(0).integers(-8, 9, images.shape)
    noisy = np.clip(images.astype(int) + noise, 0, 255).astype(np.uint8)
    seen = Views.of(images, learned, limits)
    assert not far_from(Views.of(images, learned, limits), seen).any()
    assert not far_from(Views.of(noisy, learned, limits), seen).any()


def test_near_copies_do_not_leak_into_the_cross_validation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Labels by chance, each image ten times: whoever sees a copy knows the label, and nobody may."""
    rng = np.random.default_rng(0)
    kinds = rng.normal(size=(60, 20))
    vectors = np.repeat(kinds, 10, axis=0) + 1e-4 * rng.normal(size=(600, 20))
    right = np.repeat(rng.random(60) < 0.5, 10)
    counts = Counts(
        **dict.fromkeys(("labelled", "by_machine", "conflicts", "invalid", "not_drawn", "both_wrong"), 0),
        only_a=int((~right).sum()),
        only_b=int(right.sum()),
    )
    images = np.zeros((600, 1, 1, 1), dtype=np.uint8)
    examples = Examples(ids=np.arange(600), images=images, b_is_right=right, mean_is_right=right, counts=counts)
    features = vectors.astype(np.float32)
    found = cross_validate(examples, features, views(vectors, 0.01), parts=5, seed=0)
    assert (found.groups, found.largest) == (60, 10)
    assert found.scores is not None
    assert found.scores.balanced.value < 0.7
    monkeypatch.setattr(evaluation, "near_groups", lambda _: np.arange(600))
    leaking = cross_validate(examples, features, views(vectors, 0.01), parts=5, seed=0)
    assert leaking.scores is not None
    assert leaking.scores.balanced.value > 0.95
