"""Diversities of triggers, by name: the mean over draws from the archive."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.images import ByteImages

#: How diverse some images (uint8, N x H x W x C) are; the greater, the more.
Metric = Callable[[ByteImages], float]

#: What a study's `diversity.metrics` may name. A diversity takes part by an entry here.
METRICS: dict[str, Metric] = {}


def diversities(archive: Archive, names: Sequence[str], *, sample: int, draws: int, seed: int) -> dict[str, float]:
    """The mean of each diversity over draws of so many unique triggers; of all at once where there are no more.

    An archive without a trigger has no diversity, and gives no value.
    """
    count = archive.count()
    if count == 0 or not names:
        return {}
    rng = np.random.default_rng(seed)
    drawn = [_places(rng, count, sample) for _ in range(draws if count > sample else 1)]
    values: dict[str, list[float]] = {name: [] for name in names}
    for places in drawn:
        images = archive.images_at(places + 1)
        for name in names:
            values[name].append(METRICS[name](images))
    return {name: float(np.mean(found)) for name, found in values.items()}


def _places(rng: np.random.Generator, count: int, sample: int) -> NDArray[np.int64]:
    return np.sort(rng.choice(count, size=min(sample, count), replace=False)).astype(np.int64)
