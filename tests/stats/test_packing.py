"""The greedy packing: worked examples, and equality with brute force."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from diffgan.errors import DataError, UsageError
from diffgan.stats import Packing, Space, cosine_distances, distances, greedy_packing

Vectors = NDArray[np.int8]


@dataclass(frozen=True)
class Case:
    """The same candidates in several spaces, and a threshold for each."""

    spaces: list[Vectors]
    thresholds: list[float]

    def packed(self) -> list[int]:
        spaces = [Space(vectors, limit) for vectors, limit in zip(self.spaces, self.thresholds, strict=True)]
        return [int(position) for position in greedy_packing(spaces)]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    count = draw(st.integers(0, 25))
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    elements = st.integers(-2, 3)
    spaces = [draw(arrays(np.int8, (count, size), elements=elements)) for size in sizes]
    return Case(spaces, draw(st.lists(st.floats(0, 1.5), min_size=len(sizes), max_size=len(sizes))))


def brute_force(case: Case) -> list[int]:
    """The wording, one pair at a time. Draws that hang on float32's last digit are left out."""
    tables = [cosine_distances(vectors) for vectors in case.spaces]
    for table, limit in zip(tables, case.thresholds, strict=True):
        assume(not (np.abs(table - limit) < 1e-5).any())
    counted: list[int] = []
    for candidate in range(len(case.spaces[0])):
        if all(
            table[candidate, earlier] > limit
            for earlier in counted
            for table, limit in zip(tables, case.thresholds, strict=True)
        ):
            counted.append(candidate)
    return counted


def test_golden_packing_in_one_space() -> None:
    # At 0°, 30°, 50°, 90° with threshold 0.2: 1 - cos 30° = 0.134 is near, 1 - cos 50° = 0.357 is far, and from
    # 50° to 90° is 40°: 1 - cos 40° = 0.234, far. That 30° is only 20° from 50° matters not: it never counted.
    angles = np.deg2rad([0, 30, 50, 90])
    assert greedy_packing([Space(np.stack([np.cos(angles), np.sin(angles)], 1), 0.2)]).tolist() == [0, 2, 3]


def test_near_in_one_space_is_enough_to_count_no_more() -> None:
    # The second is far from the first on pixels (distance 1), but a copy of it on features; the third is far in both.
    pixels = np.array([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    features = np.array([[1, 0], [1, 0], [0, 1]])
    assert Case([pixels, features], [0.1, 0.1]).packed() == [0, 2]


def test_the_nearest_may_differ_from_space_to_space() -> None:
    # The third is a copy of the first on pixels only and of the second on features only: both rule it out.
    pixels = np.array([[1, 0], [0, 1], [1, 0]])
    features = np.array([[1, 0], [0, 1], [0, 1]])
    assert Case([pixels, features], [0.1, 0.1]).packed() == [0, 1]


def test_a_distance_equal_to_the_threshold_is_not_farther() -> None:
    assert Case([np.array([[1, 0], [0, 1]])], [1.0]).packed() == [0]
    packing = Packing([1.0])
    accepted = [packing.add([np.array([vector])]).tolist() for vector in ([1, 0], [0, 1], [-1, 0])]
    assert accepted == [[True], [False], [True]]


def test_threshold_zero_removes_copies_only() -> None:
    images = np.random.default_rng(0).integers(0, 256, (50, 28, 28, 1), dtype=np.uint8)
    assert greedy_packing([Space(np.concatenate([images, images[::-1]]), 0.0)]).tolist() == list(range(50))


def test_black_images_count_once() -> None:
    images = np.array([[0, 0], [1, 2], [0, 0], [2, 1]], dtype=np.uint8)
    assert greedy_packing([Space(images, 0.1)]).tolist() == [0, 1, 3]


@settings(deadline=None)
@given(cases())
def test_it_equals_brute_force(case: Case) -> None:
    assert case.packed() == brute_force(case)


@settings(deadline=None)
@given(cases(), st.integers(1, 4), st.integers(1, 4))
def test_neither_blocks_nor_calls_nor_chunks_change_it(case: Case, block: int, chunk: int) -> None:
    expected = brute_force(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distances, "_BLOCK_ROWS", block)
        patch.setattr("diffgan.stats.packing._CHUNK", chunk)
        patch.setattr("diffgan.stats.packing._FIRST_CAPACITY", 1)
        packing = Packing(case.thresholds)
        half = len(case.spaces[0]) // 2
        accepted = [packing.add([space[:half] for space in case.spaces])]
        accepted.append(packing.add([space[half:] for space in case.spaces]))
    assert np.flatnonzero(np.concatenate(accepted)).tolist() == expected
    assert len(packing) == len(expected)


@settings(deadline=None)
@given(cases(), st.integers(0, 25))
def test_the_packing_of_a_prefix_is_a_prefix_of_the_packing(case: Case, length: int) -> None:
    expected = [position for position in brute_force(case) if position < length]
    assert Case([space[:length] for space in case.spaces], case.thresholds).packed() == expected


def test_no_candidate_gives_an_empty_packing() -> None:
    assert greedy_packing([Space(np.empty((0, 4)), 0.1)]).tolist() == []


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one space"):
        greedy_packing([])
    with pytest.raises(UsageError, match="threshold is nan"):
        greedy_packing([Space(np.ones((2, 2)), float("nan"))])
    with pytest.raises(UsageError, match=r"threshold is -0\.1"):
        Packing([-0.1])
    with pytest.raises(DataError, match=r"hold \[2, 3\] candidates"):
        greedy_packing([Space(np.ones((2, 2)), 0.1), Space(np.ones((3, 2)), 0.1)])
    packing = Packing([0.1])
    packing.add([np.ones((2, 2))])
    with pytest.raises(DataError, match="of 2 and of 3 values"):
        packing.add([np.ones((2, 3))])
    with pytest.raises(DataError, match="2 spaces came for 1 thresholds"):
        packing.add([np.ones((2, 2)), np.ones((2, 2))])
