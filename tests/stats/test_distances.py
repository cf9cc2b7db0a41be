"""Cosine distances: golden values, zero vectors, and agreement with the formula one pair at a time."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from diffgan.errors import DataError
from diffgan.stats import cosine_distances, distances, median_nearest_distance, nearest_distances

Ints = NDArray[np.int8]
vectors = arrays(np.int8, st.tuples(st.integers(2, 12), st.integers(1, 5)), elements=st.integers(-4, 4))


def by_formula(first: Ints, second: Ints) -> float:
    """The definition, in float64: 1 - a·b / (|a| |b|), and the rule for zeros."""
    a, b = first.astype(np.float64), second.astype(np.float64)
    if not a.any() or not b.any():
        return float(a.any() != b.any())
    return 1 - float(a @ b) / float(np.sqrt(a @ a) * np.sqrt(b @ b))


def test_golden_distances() -> None:
    # (3,4)·(4,3) = 24, |·| = 5 each: 1 - 24/25 = 0.04. (3,4)·(0,2) = 8, 5 · 2: 1 - 8/10 = 0.2.
    # (3,4)·(-3,-4) = -25: 1 + 1 = 2. (3,4) and (6,8) point the same way: 0.
    result = cosine_distances(np.array([[3, 4]]), np.array([[4, 3], [0, 2], [-3, -4], [6, 8]]))
    assert result.dtype == np.float32
    np.testing.assert_allclose(result, [[0.04, 0.2, 2.0, 0.0]], atol=1e-6)


def test_a_black_image_is_at_distance_one_from_all_but_another() -> None:
    images = np.zeros((3, 2, 2, 1), dtype=np.uint8)
    images[1] = 7
    assert cosine_distances(images).tolist() == [[0, 1, 0], [1, 0, 1], [0, 1, 0]]


@settings(deadline=None)
@given(vectors)
def test_the_matrix_equals_the_formula(rows: Ints) -> None:
    expected = [[by_formula(a, b) for b in rows] for a in rows]
    np.testing.assert_allclose(cosine_distances(rows), expected, atol=2e-6)


@settings(deadline=None)
@given(vectors, st.floats(1e-30, 1e30))
def test_scale_does_not_matter_and_a_copy_is_at_zero(rows: Ints, scale: float) -> None:
    both = cosine_distances(rows, rows * scale)
    np.testing.assert_allclose(both, cosine_distances(rows), atol=2e-6)
    assert not np.diag(both).any()


@settings(deadline=None)
@given(vectors, st.integers(1, 5))
def test_nearest_equals_the_least_of_the_others_whatever_the_block(rows: Ints, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "_BLOCK_ROWS", size)
        nearest = nearest_distances(rows)
    everything = cosine_distances(rows)
    np.fill_diagonal(everything, np.inf)
    np.testing.assert_allclose(nearest, everything.min(axis=1), atol=2e-6)


def test_golden_median_nearest_distance() -> None:
    # (3,4) and (4,3) are each other's nearest, 0.04. (-1,0): 1 + 3/5 = 1.6 from the first, 1.8 from the second; 1.6.
    # The median of 0.04, 0.04, 1.6 is 0.04; without (4,3) it is that of 1.6, 1.6.
    assert median_nearest_distance(np.array([[3, 4], [4, 3], [-1, 0]])) == pytest.approx(0.04, abs=1e-6)
    assert median_nearest_distance(np.array([[3, 4], [-1, 0]])) == pytest.approx(1.6, abs=1e-6)


@settings(deadline=None)
@given(st.integers(1, 40), st.integers(1, 1 << 26))
def test_blocks_cover_everything_once(count: int, size: int) -> None:
    covered = [place for block in distances.blocks(count, size) for place in range(block.start, block.stop)]
    assert covered == list(range(count))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (np.array([1.0, 2.0]), r"shape \(2,\); expected \(N, …\)"),
        (np.array([[1.0, np.nan]]), "NaN or infinity"),
        (np.array([[1.0, np.inf]]), "NaN or infinity"),
    ],
)
def test_broken_vectors_are_refused(rows: NDArray[np.float64], message: str) -> None:
    with pytest.raises(DataError, match=message):
        cosine_distances(rows)


def test_vectors_of_different_sizes_are_refused() -> None:
    with pytest.raises(DataError, match="of 2 and of 3 values"):
        cosine_distances(np.ones((1, 2)), np.ones((1, 3)))


def test_one_vector_has_no_neighbour() -> None:
    with pytest.raises(DataError, match="at least 2 vectors, but there are 1"):
        nearest_distances(np.ones((1, 2)))


def test_stats_import_without_torch_scipy_or_statsmodels() -> None:
    code = "import sys, diffgan.stats; print([m for m in ('torch', 'scipy', 'statsmodels') if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
