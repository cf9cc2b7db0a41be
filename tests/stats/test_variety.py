"""Geometric, Shannon's and Vendi's measures, against values worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from diffgan.errors import DataError, UsageError
from diffgan.stats import (
    geometric_diversity,
    reference_geometric_diversity,
    shannon_of_pixels,
    shannon_of_tones,
    vendi_score,
)


def test_geometric_of_two_at_an_angle() -> None:
    # Unit rows with cosine 0.6: V Vᵀ = [[1, .6], [.6, 1]]; over sigma² = ¼ it is [[4, 2.4], [2.4, 4]], and I more
    # has the determinant 25 - 5.76.
    assert geometric_diversity([[5, 0], [6, 8]], sigma=0.5) == pytest.approx(math.log(19.24))


def test_geometric_grows_slowly_with_copies_and_fast_with_something_new() -> None:
    one = geometric_diversity([[1, 0, 0]])
    copies = geometric_diversity([[1, 0, 0]] * 3)
    various = geometric_diversity(np.eye(3))
    assert (one, copies, various) == pytest.approx((math.log(2), math.log(4), 3 * math.log(2)))


def test_geometric_is_the_same_from_either_side() -> None:
    rows = np.random.default_rng(0).normal(size=(40, 5))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    whole = np.linalg.slogdet(np.eye(40) + unit @ unit.T / 0.01)[1]
    assert geometric_diversity(rows, sigma=0.1) == pytest.approx(whole)


def test_the_references_measure_takes_near_copies_for_various() -> None:
    # V Vᵀ = [[1, 1], [1, 1 + e²]] has the determinant e².
    near = reference_geometric_diversity([[1.0, 0.0], [1.0, 1e-6]])
    assert near == pytest.approx(-math.log(1e-12), rel=1e-4)
    assert near > reference_geometric_diversity([[3, 0], [0, 3]]) == pytest.approx(math.log(81))
    assert reference_geometric_diversity([[1.0], [0.0]]) == math.inf


def test_shannon_in_both_readings() -> None:
    images = np.array([[[[0]], [[255]]], [[[255]], [[0]]]], dtype=np.uint8)
    assert shannon_of_pixels(images) == pytest.approx(math.log(2))
    assert shannon_of_tones(images) == pytest.approx(math.log(2))
    even = np.full((1000, 28, 28, 1), 9, dtype=np.uint8)
    assert shannon_of_pixels(even) == pytest.approx(math.log(784_000))
    assert shannon_of_tones(even) == 0


def test_vendi_counts_what_has_nothing_in_common() -> None:
    assert vendi_score(np.eye(4)) == pytest.approx(4)
    assert vendi_score([[2, 1]] * 5) == pytest.approx(1)
    # Cosine ½: the eigenvalues of [[1, ½], [½, 1]] / 2 are ¾ and ¼.
    half = vendi_score([[1.0, 0.0], [1.0, math.sqrt(3)]])
    assert half == pytest.approx(math.exp(-0.75 * math.log(0.75) - 0.25 * math.log(0.25)))


def test_what_has_no_measure_is_told() -> None:
    with pytest.raises(UsageError, match="sigma is 0"):
        geometric_diversity([[1.0]], sigma=0)
    with pytest.raises(DataError, match=r"shape \(2,\); expected \(images, features\)"):
        vendi_score([1.0, 2.0])
    with pytest.raises(DataError, match="all zeros"):
        vendi_score([[0.0, 0.0], [1.0, 0.0]])
    with pytest.raises(DataError, match="All pixels are black"):
        shannon_of_pixels(np.zeros((2, 2), dtype=np.uint8))
    with pytest.raises(DataError, match="below 0"):
        shannon_of_tones(np.array([-1.0]))
