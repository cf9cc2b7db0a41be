"""Clusters: of one kind of disagreement each, of a size for one look, and steady."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from diffgan.labelling.grouping import Grouping, coarse, halved

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]


def points(count: int, seed: int = 0) -> Floats:
    return np.random.default_rng(seed).normal(size=(count, 5)).astype(np.float32)


def check(grouping: Grouping, triggers: Rows) -> None:
    """Every trigger is in one cluster, at a place of its own, without a gap."""
    assert (grouping.cluster[triggers] >= 0).all()
    for number in range(len(grouping)):
        places = np.sort(grouping.place[grouping.cluster == number])
        assert places.tolist() == list(range(len(places)))
        assert len(places)


@given(st.integers(0, 300), st.integers(1, 50), st.booleans())
def test_halves_are_small_enough_and_lose_nothing(count: int, most: int, all_alike: bool) -> None:
    groups = halved(np.zeros((count, 3), dtype=np.float32) if all_alike else points(count), most)
    assert sorted(np.concatenate([np.zeros(0, dtype=int), *groups]).tolist()) == list(range(count))
    assert all(len(group) <= most for group in groups)


def test_far_apart_heaps_come_apart() -> None:
    heaps = np.repeat(np.eye(4, dtype=np.float32) * 50, 10, axis=0) + points(40)[:, :4] * 0.1
    groups = halved(heaps, 12)
    assert sorted(tuple(sorted(set((group // 10).tolist()))) for group in groups) == [(0,), (1,), (2,), (3,)]


def test_a_cluster_is_of_one_cell_and_early_numbers_show_every_cell() -> None:
    cells = np.array([7] * 100 + [3] * 60 + [5] * 20)
    grouping = Grouping(most=20)
    grouping.extend(np.arange(180), cells, points(180))
    check(grouping, np.arange(180))
    of_cluster = [set(cells[grouping.cluster == number].tolist()) for number in range(len(grouping))]
    assert all(len(kinds) == 1 for kinds in of_cluster)
    assert of_cluster[:3] == [{7}, {3}, {5}]  # the largest first


def test_cells_of_few_triggers_go_together() -> None:
    grouping = Grouping(most=20)
    grouping.extend(np.arange(30), np.arange(30), points(30))
    check(grouping, np.arange(30))
    assert len(grouping) == 2


def test_the_first_of_a_cluster_is_in_its_middle() -> None:
    given_points = points(10)
    grouping = Grouping()
    grouping.extend(np.arange(10), np.zeros(10, dtype=np.int64), given_points)
    away = np.linalg.norm(given_points - given_points.mean(axis=0), axis=1)
    assert np.argsort(grouping.place).tolist() == np.argsort(away).tolist()


@given(st.lists(st.integers(1, 60), min_size=1, max_size=6), st.integers(0, 3))
def test_newcomers_move_nobody_until_a_cluster_is_overgrown(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    grouping, seen = Grouping(most=16), 0
    for size in sizes:
        cluster, place = grouping.cluster.copy(), grouping.place.copy()
        grouping.extend(np.arange(seen, seen + size), rng.integers(0, 3, size), points(size, seed=seen))
        seen += size
        check(grouping, np.arange(seen))
        counts = np.bincount(grouping.cluster)
        assert counts.max() <= 2 * 16
        moved = (grouping.cluster[: len(cluster)] != cluster) | (grouping.place[: len(place)] != place)
        for number in np.unique(cluster[moved]):  # then it has been divided
            was = int((cluster == number).sum())
            assert was + size > 2 * 16


def test_the_same_triggers_give_the_same_clusters() -> None:
    made = []
    for _ in range(2):
        grouping = Grouping(most=10)
        grouping.extend(np.arange(80), np.arange(80) % 3, points(80))
        made.append((grouping.cluster.tolist(), grouping.place.tolist()))
    assert made[0] == made[1]


def test_images_of_any_size_are_seen_from_afar() -> None:
    rng = np.random.default_rng(0)
    for shape in ((1, 1, 1), (5, 9, 3), (28, 28, 1), (300, 200, 3)):
        seen = coarse(rng.integers(0, 256, (3, *shape), dtype=np.uint8))
        np.testing.assert_allclose(np.linalg.norm(seen, axis=1), 1, rtol=1e-5)
    assert coarse(np.zeros((2, 8, 8, 1), dtype=np.uint8))[:, -1].tolist() == [1, 1]  # black ones are alike


def test_a_shift_by_a_pixel_is_a_small_change() -> None:
    images = np.zeros((3, 28, 28, 1), dtype=np.uint8)
    images[0, 8:16, 8:16] = images[1, 8:16, 9:17] = images[2, 2:6, 20:26] = 255
    seen = coarse(images)
    assert seen[0] @ seen[1] > 0.9 > seen[0] @ seen[2]
