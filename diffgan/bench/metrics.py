"""Diversities of triggers, by name: the mean over draws from the archive."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.errors import DataError
from diffgan.features.extractors import Extractor
from diffgan.images import ByteImages
from diffgan.stats.variety import (
    geometric_diversity,
    reference_geometric_diversity,
    shannon_of_pixels,
    shannon_of_tones,
    vendi_score,
)

if TYPE_CHECKING:
    from diffgan.bench.study import DiversityPlan

Vectors = NDArray[Any]

#: How diverse some images are; the greater, the more.
Measure = Callable[[Vectors], float]


@dataclass(frozen=True)
class Metric:
    """A diversity.

    Attributes:
        measure: of the images (uint8, N x H x W x C), or of their features (N x F).
        of_features: which of the two.
        takes_sigma: whether the measure has a `sigma`, which the study sets.
    """

    measure: Callable[..., float]
    of_features: bool = False
    takes_sigma: bool = False

    def with_settings(self, plan: DiversityPlan) -> Measure:
        """The measure as the study wants it."""
        return partial(self.measure, sigma=plan.sigma) if self.takes_sigma else self.measure


#: What a study's `diversity.metrics` may name. A diversity takes part by an entry here.
METRICS: dict[str, Metric] = {
    "geometric": Metric(geometric_diversity, of_features=True, takes_sigma=True),
    "geometric-reference": Metric(reference_geometric_diversity, of_features=True),
    "shannon": Metric(shannon_of_pixels),
    "shannon-tones": Metric(shannon_of_tones),
    "vendi": Metric(vendi_score, of_features=True),
}


def diversities(archive: Archive, plan: DiversityPlan, extractor: Extractor | None, *, seed: int) -> dict[str, float]:
    """The mean of each diversity over draws of so many unique triggers; of all at once where there are no more.

    An archive without a trigger has no diversity, and gives no value. Nor does a diversity that some draw does not
    have, as all-black images have none of light.

    Args:
        archive: of unique triggers.
        plan: which diversities, and how many draws of how many.
        extractor: of the features; None: pixels are the features.
        seed: of the draws.
    """
    count = archive.count()
    if not count:
        return {}
    rng = np.random.default_rng(seed)
    drawn = [_places(rng, count, plan.sample) for _ in range(plan.draws if count > plan.sample else 1)]
    metrics = {name: METRICS[name] for name in plan.metrics}
    of_features = any(metric.of_features for metric in metrics.values())
    features = _Features(archive, drawn, extractor) if of_features else None
    values: dict[str, list[float]] = {name: [] for name in metrics}
    for places in drawn:
        images = archive.images_at(places + 1)
        seen = None if features is None else features.of(images, places)
        for name, metric in metrics.items():
            vectors = seen if metric.of_features and seen is not None else images
            values[name].append(_value(metric.with_settings(plan), vectors))
    means = {name: float(np.mean(found)) for name, found in values.items()}
    return {name: mean for name, mean in means.items() if np.isfinite(mean)}


class _Features:
    """Of all that is drawn, each image once: an image may be in several draws, and networks are slow."""

    def __init__(self, archive: Archive, drawn: Sequence[NDArray[np.int64]], extractor: Extractor | None) -> None:
        self._table: tuple[NDArray[np.int64], Vectors] | None = None
        if extractor is not None:
            places = np.unique(np.concatenate(drawn))
            pages = np.array_split(places, -(-len(places) // _PAGE))
            seen = np.concatenate([extractor.features(archive.images_at(page + 1)) for page in pages])
            self._table = places, seen

    def of(self, images: ByteImages, places: NDArray[np.int64]) -> Vectors:
        """Those of the images at these places of the archive."""
        if self._table is None:
            return images.reshape(len(images), -1)
        known, seen = self._table
        return np.asarray(seen[np.searchsorted(known, places)])


#: Images in memory at a time, beside those of a draw.
_PAGE = 1024


def _value(measure: Measure, vectors: Vectors) -> float:
    try:
        return measure(vectors)
    except DataError:
        return float("nan")


def _places(rng: np.random.Generator, count: int, sample: int) -> NDArray[np.int64]:
    return np.sort(rng.choice(count, size=min(sample, count), replace=False)).astype(np.int64)
