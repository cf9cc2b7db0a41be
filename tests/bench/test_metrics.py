"""Diversities of an archive: drawn as the paper draws, each image's features made once, none where there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.bench.metrics import METRICS, diversities
from diffgan.bench.study import DiversityPlan
from diffgan.images import ByteImages
from diffgan.stats.variety import geometric_diversity, vendi_score


class Held:
    """As much of an archive as diversities ask for."""

    def __init__(self, images: ByteImages) -> None:
        self._images = images

    def count(self) -> int:
        return len(self._images)

    def images_at(self, numbers: Sequence[int] | NDArray[np.int64]) -> ByteImages:
        chosen: ByteImages = self._images[np.asarray(numbers) - 1]
        return chosen


class Corners:
    """Its features are four pixels; remembers how many images it was shown."""

    name, identity = "corners", "corners-0"

    def __init__(self) -> None:
        self.shown = 0

    def features(self, images: ByteImages) -> NDArray[np.float32]:
        self.shown += len(images)
        return images[:, :2, :2, 0].reshape(len(images), -1).astype(np.float32)


def pictures(count: int) -> ByteImages:
    return np.random.default_rng(0).integers(1, 256, (count, 3, 3, 1), dtype=np.uint8)


def measured(images: ByteImages, extractor: Any = None, **plan: Any) -> dict[str, float]:
    wanted = DiversityPlan(**{"metrics": tuple(METRICS), **plan})
    return diversities(Held(images), wanted, extractor, seed=0)  # type: ignore[arg-type]


def test_few_triggers_are_measured_all_at_once_in_every_reading() -> None:
    """Two images, one pixel each: ln 2 of light and of tones; at right angles with length 100 and 200."""
    images = np.array([[[[100], [0]]], [[[0], [200]]]], dtype=np.uint8)
    assert measured(images) == {
        "geometric": pytest.approx(2 * np.log(2)),
        "geometric-reference": pytest.approx(np.log(100**2 * 200**2)),
        "shannon": pytest.approx(-(np.log(1 / 3) / 3 + np.log(2 / 3) * 2 / 3)),
        "shannon-tones": pytest.approx(1.5 * np.log(2)),
        "vendi": pytest.approx(2),
    }


def test_the_mean_is_over_draws_of_the_stated_size() -> None:
    images = pictures(40)
    made = measured(images, metrics=("vendi",), sample=6, draws=5)
    rng = np.random.default_rng(0)
    draws = [np.sort(rng.choice(40, size=6, replace=False)) for _ in range(5)]
    assert made["vendi"] == pytest.approx(np.mean([vendi_score(images[rows].reshape(6, -1)) for rows in draws]))


def test_features_are_made_once_for_each_image_and_looked_up_rightly() -> None:
    images, corners = pictures(40), Corners()
    made = measured(images, corners, metrics=("geometric",), sample=30, draws=4, sigma=0.5)
    rng = np.random.default_rng(0)
    draws = [np.sort(rng.choice(40, size=30, replace=False)) for _ in range(4)]
    seen = images[:, :2, :2, 0].reshape(40, -1)
    assert made["geometric"] == pytest.approx(np.mean([geometric_diversity(seen[rows], sigma=0.5) for rows in draws]))
    assert corners.shown == len(np.unique(np.concatenate(draws)))


def test_what_looks_at_no_features_asks_for_none() -> None:
    corners = Corners()
    measured(pictures(9), corners, metrics=("shannon", "shannon-tones"))
    assert corners.shown == 0


def test_a_diversity_that_is_infinite_or_undefined_gives_no_value_and_the_others_do() -> None:
    black = np.zeros((2, 3, 3, 1), dtype=np.uint8)
    assert set(measured(black)) == {"geometric", "shannon-tones"}
    assert measured(black[:0]) == {}


def test_a_figure_says_what_it_depends_on() -> None:
    plan = DiversityPlan(metrics=("geometric", "vendi", "shannon"), features="vgg16", sigma=0.1)
    assert [plan.told(name) for name in plan.metrics] == ["geometric (vgg16, σ 0.1)", "vendi (vgg16)", "shannon"]
