"""The map of kept triggers, and the clusters on it: UMAP, then HDBSCAN, of a bounded random sample."""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import StoredTriggers
from diffgan.datasets import Dataset
from diffgan.images import ByteImages, hex_id, image_ids
from diffgan.report.run import Rows, Run
from diffgan.report.traits import beside_real, traits_of
from diffgan.search.clusters import FEWEST, ClusterSettings, embedded, reduced
from diffgan.stats.distances import cosine_distances, nearest_distances

Floats = NDArray[np.float64]

_MOST, _MOST_BYTES, _LEAST_SHARE = 2_000, 96 * 1024 * 1024, 80
_REAL = 2_000
_MEMBERS = 12
_STAND_INS = 100
#: Clusters that have a colour of their own, and that are described.
COLOURED, DESCRIBED = 10, 24


@dataclass(frozen=True, eq=False)
class Cluster:
    """A group of like triggers in the sample.

    Attributes:
        number: from 1, the largest first.
        size: its members in the sample.
        divergence: their median.
        kinds: the most frequent (label of A, label of B, members).
        traits: what its members have in common, by name: the median, and where real images stand.
        members: places in the sample, the representative first.
        real: the place in the data of the real image nearest to the representative; None without data.
        real_distance: how far that is.
        ids: of the representative.
    """

    number: int
    size: int
    divergence: float
    kinds: list[tuple[int, int, int]]
    traits: list[tuple[str, str, str]]
    members: list[int]
    real: int | None
    real_distance: float | None
    id: str


@dataclass(frozen=True, eq=False)
class Landscape:
    """The sample and what is found in it.

    Attributes:
        rows: of the sample, in the order of discovery.
        triggers: of the sample.
        of: how many the sample is drawn from.
        points: N x 2, in the unit square; None where there are too few.
        cluster: the number of each, from 1; 0 for those in none.
        clusters: the largest first.
        diversity: the distance of each from the nearest representative but itself.
        to_real: whether the diversity is from real images, for want of clusters.
        front: places in the sample that no other exceeds in divergence and diversity, the most divergent first.
        typical: the median distance of a real image from its nearest; None without data.
    """

    rows: Rows
    triggers: StoredTriggers
    of: int
    points: Floats | None
    cluster: Rows
    clusters: list[Cluster]
    diversity: Floats
    to_real: bool
    front: list[int]
    typical: float | None


def landscape_of(run: Run, dataset: Dataset | None) -> Landscape | None:
    """The sample, its map and clusters; None where there is no trigger."""
    everything = run.best_rows
    if not len(everything):
        return None
    size = int(np.prod(run.spec.shape))
    most = min(_MOST, max(_LEAST_SHARE, _MOST_BYTES // size))
    rows = everything
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    triggers = run.triggers(rows)
    points, cluster = _mapped(triggers.images)
    real = _real_images(dataset)
    clusters = _clusters(run, triggers, points, cluster, dataset, real)
    diversity, to_real = _diversity(triggers.images, clusters, real)
    finite = np.isfinite(triggers.divergence)
    return Landscape(
        rows=rows,
        triggers=triggers,
        of=len(everything),
        points=points,
        cluster=cluster,
        clusters=clusters,
        diversity=diversity,
        to_real=to_real,
        front=np.flatnonzero(finite)[front_of(triggers.divergence[finite], diversity[finite])].tolist(),
        typical=None if real is None or len(real) < 2 else float(np.median(nearest_distances(real))),
    )


def front_of(first: Floats, second: Floats) -> list[int]:
    """The places that no other equals or exceeds in both, greatest of the first in front.

    Example:
        >>> front_of(np.array([3.0, 2.0, 1.0, 1.0]), np.array([1.0, 2.0, 2.0, 3.0]))
        [0, 1, 3]
    """
    front, best = [], -np.inf
    for place in np.lexsort((-second, -first)).tolist():
        if second[place] > best:
            front.append(place)
            best = second[place]
    return front


def _mapped(images: ByteImages) -> tuple[Floats | None, Rows]:
    """Where each image lies on the map, and the number of its cluster; copies lie together."""
    from threadpoolctl import threadpool_limits

    none = np.zeros(len(images), dtype=np.int64)
    _, first, which = np.unique(image_ids(images), return_index=True, return_inverse=True)
    if len(first) < FEWEST:
        return None, none
    settings = ClusterSettings()
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flat = embedded(reduced(images[first], settings), seed=0, settings=settings).astype(np.float64)
        labels = _grouped(flat)
    low, high = flat.min(axis=0), flat.max(axis=0)
    unit = (flat - low) / np.where(high > low, high - low, 1)
    order = np.argsort(-np.bincount(labels[labels >= 0], minlength=max(0, labels.max() + 1)), kind="stable")
    number = np.zeros(len(order) + 1, dtype=np.int64)
    number[order] = np.arange(1, len(order) + 1)
    return unit[which], np.where(labels < 0, 0, number[labels])[which]


def _grouped(points: Floats) -> Rows:
    """The number of each point's cluster; -1 for none."""
    from hdbscan import HDBSCAN

    least = max(5, len(points) // 100)
    labels = np.zeros(0, dtype=np.int64)
    for selection in ("eom", "leaf"):
        found = HDBSCAN(min_cluster_size=least, min_samples=5, cluster_selection_method=selection, core_dist_n_jobs=1)
        labels = np.asarray(found.fit(points).labels_, dtype=np.int64)
        # One cluster of nearly everything says nothing: then its parts do.
        if np.bincount(labels[labels >= 0], minlength=1).max() <= len(points) / 2:
            break
    return labels


def _real_images(dataset: Dataset | None) -> ByteImages | None:
    if dataset is None:
        return None
    size = int(np.prod(dataset.spec.shape))
    return dataset.images[_real_rows(len(dataset), min(_REAL, max(_STAND_INS, _MOST_BYTES // size)))]


def _real_rows(count: int, most: int) -> Rows:
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(0).choice(count, most, replace=False))


def _clusters(
    run: Run,
    triggers: StoredTriggers,
    points: Floats | None,
    cluster: Rows,
    dataset: Dataset | None,
    real: ByteImages | None,
) -> list[Cluster]:
    if points is None:
        return []
    described = range(1, min(DESCRIBED, int(cluster.max())) + 1)
    real_traits = {} if real is None else traits_of(real)
    members = {number: _from_the_middle(triggers.images, np.flatnonzero(cluster == number)) for number in described}
    nearest = _nearest(triggers.images[[rows[0] for rows in members.values()]], dataset) if members else []
    made = []
    for number, (place, distance) in zip(described, nearest, strict=True):
        rows = members[number]
        pairs: Counter[tuple[int, int]] = Counter()
        if run.has_labels and triggers.label_a is not None and triggers.label_b is not None:
            pairs.update(zip(triggers.label_a[rows].tolist(), triggers.label_b[rows].tolist(), strict=True))
        traits = [
            (name, f"{np.median(values):.2f}", beside_real(values, real_traits.get(name, np.zeros(0))))
            for name, values in traits_of(triggers.images[rows]).items()
        ]
        made.append(
            Cluster(
                number=number,
                size=len(rows),
                divergence=float(np.median(triggers.divergence[rows])),
                kinds=[(a, b, count) for (a, b), count in pairs.most_common(3)],
                traits=traits,
                members=rows[:_MEMBERS].tolist(),
                real=place,
                real_distance=distance,
                id=hex_id(int(triggers.ids[rows[0]])),
            )
        )
    return made


def _from_the_middle(images: ByteImages, rows: Rows) -> Rows:
    """The one in the middle first, then some that are spread over the others."""
    flat = images[rows].reshape(len(rows), -1).astype(np.float32)
    away = np.linalg.norm(flat - flat.mean(axis=0), axis=1)
    ordered = rows[np.argsort(away, kind="stable")]
    step = max(1, len(ordered) // _MEMBERS)
    spread = ordered[::step][:_MEMBERS]
    return np.concatenate([spread, np.setdiff1d(ordered, spread, assume_unique=True)])


def _nearest(images: ByteImages, dataset: Dataset | None) -> list[tuple[int | None, float | None]]:
    """The nearest real image of each, in cosine distance on pixels."""
    if dataset is None:
        return [(None, None)] * len(images)
    best = np.full(len(images), np.inf, dtype=np.float32)
    places = np.zeros(len(images), dtype=np.int64)
    step = max(1, _MOST_BYTES // (4 * int(np.prod(dataset.spec.shape))))  # as floats they are four times as large
    for start in range(0, len(dataset), step):
        distances = cosine_distances(images, dataset.images[start : start + step])
        nearest, found = distances.argmin(axis=1), distances.min(axis=1)
        nearer = found < best
        best[nearer], places[nearer] = found[nearer], nearest[nearer] + start
    return list(zip(places.tolist(), best.astype(float).tolist(), strict=True))


def _diversity(images: ByteImages, clusters: list[Cluster], real: ByteImages | None) -> tuple[Floats, bool]:
    """The distance from the nearest representative; a representative itself counts from the nearest other."""
    own = [cluster.members[0] for cluster in clusters]
    if len(own) < 2:
        if real is None:
            return np.zeros(len(images)), True
        return cosine_distances(images, real[:_STAND_INS]).min(axis=1).astype(np.float64), True
    distances = cosine_distances(images, images[own])
    distances[own, np.arange(len(own))] = np.inf
    return distances.min(axis=1).astype(np.float64), False
