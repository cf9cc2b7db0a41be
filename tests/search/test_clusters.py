"""Clusters: a representative for each group of images, and what happens where there are no groups."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.images import ByteImages
from diffgan.search.clusters import (
    FAITHFUL,
    FEWEST,
    ClusterSettings,
    find_representatives,
    neighbours_of,
    reduced,
    representatives_of,
)

SETTINGS = ClusterSettings(epochs=50)


def groups(count: int, each: int, *, seed: int = 0, side: int = 8) -> ByteImages:
    """Images around `count` centres, in turn: image i belongs to group i % count."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(40, 216, (count, side, side, 1))
    noise = rng.integers(-15, 16, (each, count, side, side, 1))
    return np.asarray((centres + noise).reshape(-1, side, side, 1), dtype=np.uint8)


def points_in(centres: list[tuple[float, float]], each: int) -> NDArray[np.float32]:
    rng = np.random.default_rng(0)
    return np.concatenate([rng.normal(centre, 0.1, (each, 2)) for centre in centres]).astype(np.float32)


@pytest.mark.parametrize("settings", [SETTINGS, FAITHFUL], ids=["bounded", "faithful"])
def test_every_group_has_a_representative_of_its_own(settings: ClusterSettings) -> None:
    places = find_representatives(groups(4, 40), seed=0, settings=settings)
    assert sorted(places % 4) == [0, 1, 2, 3]
    assert (np.diff(places) > 0).all()


def test_the_same_seed_gives_the_same_representatives() -> None:
    images = groups(5, 30)
    first = find_representatives(images, seed=7, settings=SETTINGS)
    np.testing.assert_array_equal(first, find_representatives(images, seed=7, settings=SETTINGS))


def test_copies_count_once_and_the_first_of_them_represents() -> None:
    images = groups(3, 30)
    once = find_representatives(images, seed=0, settings=SETTINGS)
    np.testing.assert_array_equal(once, find_representatives(np.tile(images, (3, 1, 1, 1)), seed=0, settings=SETTINGS))


@pytest.mark.parametrize("count", [0, 1, FEWEST - 1])
def test_too_few_images_have_no_clusters(count: int) -> None:
    assert find_representatives(groups(1, 30)[:count], seed=0, settings=SETTINGS).shape == (0,)


def test_copies_of_one_image_have_no_clusters() -> None:
    assert find_representatives(np.tile(groups(1, 1), (100, 1, 1, 1)), seed=0, settings=SETTINGS).shape == (0,)


def test_as_few_images_as_can_be() -> None:
    places = find_representatives(groups(1, FEWEST), seed=0, settings=SETTINGS)
    assert len(places) <= 2
    assert set(places) <= set(range(FEWEST))


def test_one_group_is_one_cluster() -> None:
    points = np.random.default_rng(0).normal(0, 0.1, (200, 2)).astype(np.float32)
    places = representatives_of(points, ClusterSettings(smallest=50))
    assert len(places) == 1
    assert np.linalg.norm(points[places[0]]) < 0.15


def test_where_there_are_fewer_points_than_a_cluster_needs_there_is_none() -> None:
    points = points_in([(0, 0), (9, 9)], 30)
    assert representatives_of(points, ClusterSettings(smallest=60)).shape == (0,)


def test_what_would_be_all_noise_is_one_cluster() -> None:
    points = np.random.default_rng(0).uniform(0, 1, (60, 2)).astype(np.float32)
    assert len(representatives_of(points, ClusterSettings(smallest=30))) == 1


def test_neighbours_by_hand() -> None:
    places, lengths = neighbours_of(np.array([[0, 0], [3, 4], [0, 1], [0, 1]], dtype=np.float32), 3)
    # The copies at 2 and 3 are at 0 from each other, and sqrt(9 + 9) from the point (3, 4).
    expected = np.array([[0, 1, 1], [0, 18**0.5, 18**0.5], [0, 0, 1], [0, 0, 1]])
    np.testing.assert_allclose(lengths.astype(np.float64), expected, atol=1e-6)
    assert places[:, 0].tolist() == [0, 1, 2, 3]
    assert sorted(places[0, 1:]) == [2, 3]
    assert places[2].tolist() == [2, 3, 0]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning:hdbscan")
def test_the_first_of_equally_probable_members_represents() -> None:
    points = np.repeat(np.array([[0, 0], [50, 0], [0, 50]], dtype=np.float32), 30, axis=0)
    assert sorted(representatives_of(points, SETTINGS)) == [0, 30, 60]


def test_representatives_are_bounded_and_the_largest_clusters_keep_theirs() -> None:
    points = np.concatenate([points_in([(0, 0)], 15), points_in([(20, 0), (0, 20)], 40)])
    assert len(representatives_of(points, SETTINGS)) == 3
    places = representatives_of(points, ClusterSettings(most=2))
    assert len(places) == 2
    assert (places >= 15).all()


@pytest.mark.parametrize("side", [8, 20, 70], ids=["fewer pixels than images", "more", "in two parts"])
def test_principal_components_keep_the_distances(side: int) -> None:
    images = groups(6, 12, side=side)
    pixels = images.reshape(72, -1) / 255
    points = reduced(images, ClusterSettings(components=60)).astype(np.float64)
    assert points.shape == (72, 60)
    spread = ((pixels - pixels.mean(axis=0)) ** 2).sum()
    assert 0.98 * spread < (points**2).sum() <= spread * 1.0001
    assert (np.diff((points**2).sum(axis=0)) <= 1e-6).all()


def test_images_with_few_pixels_stay_as_they_are() -> None:
    images = groups(2, 30, side=4)
    np.testing.assert_allclose(reduced(images, SETTINGS), images.reshape(60, 16) / 255, rtol=1e-6)


@pytest.mark.parametrize(("name", "value"), [("neighbours", 1), ("smallest", 0), ("components", 1), ("most", 0)])
def test_settings_that_make_no_sense_are_refused(name: str, value: int) -> None:
    with pytest.raises(UsageError, match=f"{name} is {value}"):
        replace(SETTINGS, **{name: value})  # type: ignore[arg-type]
