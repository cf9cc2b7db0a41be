"""Thumbnails, and which triggers are distinct by them."""

from __future__ import annotations

import numpy as np
import pytest

from diffgan.images import ByteImages
from diffgan.search.novelty import Novelty
from diffgan.search.thumbnails import SIDE, thumbnails, usual_distance

#: Three images at right angles, two pixels each lit of six.
RIGHT_ANGLES = np.array([[9, 9, 0, 0, 0, 0], [0, 0, 9, 9, 0, 0], [0, 0, 0, 0, 9, 9]], dtype=np.uint8)


def images(rows: object) -> ByteImages:
    given = np.asarray(rows, dtype=np.uint8)
    return given.reshape(len(given), 1, -1, 1)


def cells(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64)


def test_a_thumbnail_holds_the_rounded_means_of_blocks() -> None:
    image = np.zeros((1, 28, 28, 1), dtype=np.uint8)
    image[0, 0, 0], image[0, 3, 3], image[0, 4:8, 8:12] = 20, 24, 200
    small = thumbnails(image)
    assert small.shape == (1, SIDE, SIDE, 1)
    assert small[0, 0, 0, 0] == 3  # 44 / 16, rounded
    assert small[0, 1, 2, 0] == 200
    assert int(small.sum()) == 203


def test_blocks_of_unequal_size_are_means_too_and_small_images_stay() -> None:
    flat = np.full((2, 32, 29, 3), 77, dtype=np.uint8)
    assert (thumbnails(flat) == 77).all()
    assert thumbnails(flat).shape == (2, SIDE, SIDE, 3)
    digits = np.arange(49, dtype=np.uint8).reshape(1, 7, 7, 1)
    assert (thumbnails(digits) == digits).all()


def test_distinct_are_those_far_enough_from_all_before_in_their_cell() -> None:
    novelty = Novelty(0.1)
    first = images([*RIGHT_ANGLES[:2], RIGHT_ANGLES[0] * 2])
    assert novelty.admit(first, cells(4, 4, 4)).tolist() == [True, True, False]  # a brighter copy is no other
    again = images([RIGHT_ANGLES[0], RIGHT_ANGLES[0], RIGHT_ANGLES[2]])
    assert novelty.admit(again, cells(4, 5, 4)).tolist() == [False, True, True]  # in another cell it is
    assert len(novelty) == 4


def test_the_distance_decides() -> None:
    near = images([[10, 0], [10, 5]])  # the cosine is 10 / sqrt(125): at a distance of 0.1056
    assert Novelty(0.10).admit(near, cells(0, 0)).tolist() == [True, True]
    assert Novelty(0.11).admit(near, cells(0, 0)).tolist() == [True, False]


def test_black_images_are_copies_of_each_other_only() -> None:
    novelty = Novelty(0.1)
    assert novelty.admit(images([[0, 0], [0, 0], [0, 3]]), cells(0, 0, 0)).tolist() == [True, False, True]


@pytest.mark.parametrize("seed", range(3))
def test_all_that_is_remembered_is_distinct_and_state_brings_it_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    drawn, where = rng.integers(0, 255, (300, 1, 3, 1), dtype=np.uint8), rng.integers(0, 3, 300)
    whole, broken = Novelty(0.05), Novelty(0.05)
    expected = [whole.admit(drawn[start : start + 50], where[start : start + 50]) for start in range(0, 300, 50)]
    kept = drawn[np.concatenate(expected)].reshape(-1, 3).astype(float)
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)
    same_cell = where[np.concatenate(expected)][:, None] == where[np.concatenate(expected)]
    assert ((kept @ kept.T)[same_cell & ~np.eye(len(kept), dtype=bool)] < 0.95 + 1e-5).all()
    for start in range(0, 150, 50):
        broken.admit(drawn[start : start + 50], where[start : start + 50])
    resumed = Novelty(0.05)
    resumed.restore({name: rows.copy() for name, rows in broken.state().items()})
    assert len(resumed) == len(broken)
    for part, start in enumerate(range(150, 300, 50), start=3):
        assert (resumed.admit(drawn[start : start + 50], where[start : start + 50]) == expected[part]).all()


def test_the_fullest_cell_forgets_its_older_half() -> None:
    novelty = Novelty(0.1, most=3)
    novelty.admit(images(RIGHT_ANGLES), cells(1, 1, 2))
    assert len(novelty) == 3
    novelty.admit(images(RIGHT_ANGLES[2:]), cells(1))
    assert len(novelty) == 2
    assert novelty.admit(images(RIGHT_ANGLES), cells(1, 1, 1)).tolist()[2] is False  # the newest is remembered


def test_room_is_made_for_some_at_a_time() -> None:
    rng = np.random.default_rng(3)
    drawn = rng.integers(0, 255, (17, 6, 6, 1), dtype=np.uint8)
    novelty = Novelty(0.01, most=16)
    places = np.arange(17) % 8
    assert novelty.admit(drawn[:16], places[:16]).all()
    assert len(novelty) == 16
    # Of the three of cell 0 two are forgotten, which leaves 15; an eighth is to be free, so cell 7 forgets one of two.
    novelty.admit(drawn[16:], places[16:])
    assert len(novelty) == 14
    assert np.flatnonzero(novelty.distinct(drawn, places)).tolist() == [0, 7, 8]


def test_how_far_real_images_are_apart_is_a_median() -> None:
    # Nearest neighbours: 0 between the two alike, 1 for each at a right angle.
    real = images([RIGHT_ANGLES[0], RIGHT_ANGLES[0], RIGHT_ANGLES[1], RIGHT_ANGLES[2], [0, 0, 0, 0, 0, 0]])
    assert usual_distance(real, seed=0) == pytest.approx(1)


def test_of_equally_full_cells_the_same_one_forgets_after_state_came_back() -> None:
    whole = Novelty(0.1, most=3)
    whole.admit(images(RIGHT_ANGLES[:1]), cells(2))
    whole.admit(images(RIGHT_ANGLES[:1]), cells(1))
    resumed = Novelty(0.1, most=3)
    resumed.restore(whole.state())
    for novelty in (whole, resumed):
        novelty.admit(images(RIGHT_ANGLES[1:2]), cells(1))
        novelty.admit(images(RIGHT_ANGLES[1:2]), cells(2))
    assert {name: rows.tolist() for name, rows in whole.state().items()} == {
        name: rows.tolist() for name, rows in resumed.state().items()
    }


def test_distinct_says_what_admit_would_and_remembers_nothing() -> None:
    rng = np.random.default_rng(4)
    small = rng.integers(0, 255, (60, 3, 3, 1), dtype=np.uint8)
    cells = rng.integers(0, 3, 60)
    novelty = Novelty(0.05)
    novelty.admit(small[:20], cells[:20])
    said = novelty.distinct(small, cells)
    assert not said[:20].any()
    np.testing.assert_array_equal(novelty.distinct(small, cells), said)
    np.testing.assert_array_equal(novelty.admit(small, cells), said)
