"""Clusters of triggers, and the representative of each: UMAP, then HDBSCAN, on pixels.

For the same images, seed and settings, the representatives are the same, whichever process finds them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict

from diffgan.errors import UsageError
from diffgan.images import ByteImages, image_ids
from diffgan.stats.distances import as_rows

if TYPE_CHECKING:
    from hdbscan import HDBSCAN

Places = NDArray[np.int64]
Floats = NDArray[np.float32]

#: Fewer different images than this have no clusters.
FEWEST = 20
#: Up to so many points, neighbours are found by comparing all pairs, as UMAP does; above, by UMAP's approximation.
_EXACT = 4096
#: Pixels of large images that are in memory as floats at a time.
_COLUMNS = 4096


@dataclass(frozen=True)
class ClusterSettings:
    """How clusters are found.

    Attributes:
        components: pixels are reduced to so many principal components before UMAP; None leaves them as they are.
        neighbours: UMAP's.
        epochs: UMAP's; None takes UMAP's own choice.
        init: where UMAP starts from.
        dimensions: UMAP's output.
        smallest: HDBSCAN's least size of a cluster.
        selection: HDBSCAN's: the most lasting clusters (`eom`, excess of mass), or the smallest ones (`leaf`).
        most: representatives of the largest clusters only, so many; None: of all.
    """

    components: int | None = 50
    neighbours: int = 10
    epochs: int | None = 100
    init: Literal["pca", "random", "spectral"] = "pca"
    dimensions: int = 2
    smallest: int = 10
    selection: Literal["eom", "leaf"] = "leaf"
    most: int | None = 200

    #: For configurations that hold these settings.
    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    def __post_init__(self) -> None:
        bounds = {"components": 2, "neighbours": 2, "epochs": 1, "dimensions": 1, "smallest": 2, "most": 1}
        for name, least in bounds.items():
            value = getattr(self, name)
            if value is not None and value < least:
                raise UsageError(f"The clusters' {name} is {value}; expected {least} or more.")


#: The libraries' own values on plain pixels, and every cluster.
FAITHFUL = ClusterSettings(
    components=None,
    neighbours=15,
    epochs=None,
    init="spectral",
    dimensions=2,
    smallest=5,
    selection="eom",
    most=None,
)


def find_representatives(images: ByteImages, *, seed: int, settings: ClusterSettings) -> Places:
    """The representative of each cluster: the member most probable to belong to it, the first of several.

    Copies count once. There are none where fewer than `FEWEST` different images are given, or where HDBSCAN takes all
    for noise, even when it may find one single cluster.

    Args:
        images: the triggers, N x H x W x C.
        seed: UMAP's.
        settings: see there.

    Returns:
        Places in `images`, ascending.
    """
    from threadpoolctl import threadpool_limits

    if len(images) < FEWEST:
        return np.empty(0, dtype=np.int64)
    different = np.sort(np.unique(image_ids(images), return_index=True)[1])
    if len(different) < FEWEST:
        return np.empty(0, dtype=np.int64)
    # Sums come out otherwise with another number of threads; and the search's own threads need the cores.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        points = reduced(images[different], settings)
        chosen = representatives_of(embedded(points, seed=seed, settings=settings), settings)
    return np.sort(different[chosen]).astype(np.int64)


def reduced(images: ByteImages, settings: ClusterSettings) -> Floats:
    """The pixels in [0, 1], or their principal components where they are more than the settings allow."""
    rows = as_rows(images)
    if settings.components is None or min(rows.shape) <= settings.components:
        return rows.astype(np.float32) / np.float32(255)
    return _principal_components(rows, settings.components)


def embedded(points: Floats, *, seed: int, settings: ClusterSettings) -> Floats:
    """UMAP's picture of the points."""
    from umap import UMAP

    count = min(settings.neighbours, len(points) - 1)
    known = neighbours_of(points, count) if len(points) <= _EXACT else (None, None)
    embedding: Floats = UMAP(
        n_components=settings.dimensions,
        n_neighbors=count,
        precomputed_knn=(*known, None),
        n_epochs=settings.epochs,
        init=settings.init,
        min_dist=0.0,
        low_memory=False,
        random_state=seed,
        n_jobs=1,
    ).fit_transform(points)
    return embedding


def neighbours_of(points: Floats, count: int) -> tuple[Places, Floats]:
    """The nearest points of each, itself first, and their Euclidean distances, both N x count.

    UMAP finds the same by sorting whole rows, which takes most of a fit's time.
    """
    exact = points.astype(np.float64)
    squares = np.einsum("nd,nd->n", exact, exact)
    distances = squares[:, None] + squares - 2 * (exact @ exact.T)
    np.fill_diagonal(distances, -1)
    nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
    found = np.take_along_axis(distances, nearest, axis=1)
    order = np.argsort(found, axis=1, kind="stable")
    lengths = np.sqrt(np.maximum(np.take_along_axis(found, order, axis=1), 0))
    return np.take_along_axis(nearest, order, axis=1), lengths.astype(np.float32)


def representatives_of(embedding: Floats, settings: ClusterSettings) -> Places:
    """Places of the most probable members of HDBSCAN's clusters, the largest cluster first.

    Where HDBSCAN finds none, it is asked once more, and may then find one single cluster.
    """
    if len(embedding) <= settings.smallest:
        return np.empty(0, dtype=np.int64)
    model = _clustered(embedding, settings, single=False)
    if model.labels_.max() < 0:
        model = _clustered(embedding, settings, single=True)
    labels = np.asarray(model.labels_)
    count = int(labels.max()) + 1
    membership = _membership(model, count)
    largest = np.argsort(-np.bincount(labels[labels >= 0], minlength=count), kind="stable")[: settings.most]
    places = [np.where(labels == cluster, membership[:, cluster], -1).argmax() for cluster in largest]
    return np.array(places, dtype=np.int64)


def _clustered(embedding: Floats, settings: ClusterSettings, *, single: bool) -> HDBSCAN:
    from hdbscan import HDBSCAN

    return HDBSCAN(
        min_cluster_size=settings.smallest,
        prediction_data=True,
        cluster_selection_method="eom" if single else settings.selection,  # of one single cluster, no part is a leaf
        allow_single_cluster=single,
        core_dist_n_jobs=1,
    ).fit(embedding.astype(np.float64))


def _membership(model: Any, count: int) -> NDArray[np.float64]:
    """N x clusters: how probable it is that a point belongs to each."""
    from hdbscan import all_points_membership_vectors

    if count == 1:  # there is nothing to weigh against: how firmly a point belongs is all there is to say
        return np.asarray(model.probabilities_, dtype=np.float64)[:, None]
    membership = np.asarray(all_points_membership_vectors(model), dtype=np.float64)
    return np.nan_to_num(membership, nan=1.0)  # among copies, of infinite density, it is not a number


def _principal_components(rows: ByteImages, count: int) -> Floats:
    """Images x count. Large images are never in memory as floats, all at once."""
    from scipy.linalg import eigh

    centred = _centred(rows) if rows.shape[1] <= len(rows) else None
    square = _products(rows) if centred is None else centred.T @ centred
    side = len(square)
    values, vectors = eigh(square, subset_by_index=(side - count, side - 1))
    points = vectors * np.sqrt(np.maximum(values, 0)) if centred is None else centred @ vectors
    return np.ascontiguousarray(points[:, ::-1], dtype=np.float32)


def _products(rows: ByteImages) -> NDArray[np.float64]:
    """The inner products of all pairs of centred images."""
    products = np.zeros((len(rows), len(rows)))
    for start in range(0, rows.shape[1], _COLUMNS):
        part = _centred(rows[:, start : start + _COLUMNS])
        products += part @ part.T
    return products


def _centred(rows: ByteImages) -> Floats:
    pixels = rows.astype(np.float32) / np.float32(255)
    pixels -= pixels.mean(axis=0)
    return pixels
