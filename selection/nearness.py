"""Near copies: they must not stand on both sides of a test, or it measures memory.

Two images are near where their cosine distance, on pixels or on `learned` features, is at most the median distance of
a real image from its nearest neighbour. All distances are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from diffgan.features.learned import LearnedClassifier
from diffgan.images import ByteImages
from diffgan.stats import cosine_distances, median_nearest_distance

Mask = NDArray[np.bool_]
_BLOCK = 2048
#: Distances that are held at a time, in `near_groups`.
_DISTANCES_MOST = 1 << 25


class Limits(BaseModel):
    """Distances up to which two images are near.

    Attributes:
        pixels: on pixels.
        learned: on `learned` features.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    pixels: float
    learned: float


@dataclass(frozen=True, eq=False)
class Views:
    """Images as they are compared.

    Attributes:
        spaces: each with its limit and the images as vectors (N x anything).
    """

    spaces: tuple[tuple[float, NDArray[np.generic]], ...]

    def __len__(self) -> int:
        return len(self.spaces[0][1])

    @classmethod
    def of(cls, images: ByteImages, learned: LearnedClassifier, limits: Limits) -> Views:
        """The images on pixels and on features."""
        return cls(((limits.pixels, images), (limits.learned, learned.features(images))))

    def part(self, rows: slice | NDArray[np.int64]) -> Views:
        """Some of the images."""
        return Views(tuple((limit, vectors[rows]) for limit, vectors in self.spaces))


def limits_of(images: ByteImages, learned: LearnedClassifier) -> Limits:
    """The limits that some real images give.

    Raises:
        DataError: there are fewer than two.
    """
    return Limits(pixels=median_nearest_distance(images), learned=median_nearest_distance(learned.features(images)))


def far_from(views: Views, seen: Views) -> Mask:
    """Which images are farther than the limit from all that were seen, in every space.

    Example:
        >>> import numpy as np
        >>> one = Views(((0.1, np.array([[1.0, 0.0], [0.0, 1.0]])),))
        >>> far_from(one, Views(((0.1, np.array([[5.0, 0.0]])),))).tolist()
        [False, True]
    """
    far = np.ones(len(views), dtype=np.bool_)
    for start in range(0, len(seen), _BLOCK):
        block = seen.part(slice(start, start + _BLOCK))
        rows = np.flatnonzero(far)
        far[rows[_near(views.part(rows), block).any(axis=1)]] = False
    return far


def near_groups(views: Views) -> NDArray[np.int64]:
    """A number for each image: those that are near, or linked by a chain of near ones, have the same.

    Example:
        >>> import numpy as np
        >>> near_groups(Views(((0.1, np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 0.1]])),))).tolist()
        [0, 1, 0]
    """
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    count = len(views)
    everybody = np.arange(count)
    #: Of each image, one of its group, among those compared so far: there may be far more links than can be held.
    linked = everybody
    block = max(1, min(_BLOCK, _DISTANCES_MOST // max(1, count)))
    groups = everybody
    for start in range(0, count, block):
        rows, columns = np.nonzero(_near(views.part(slice(start, start + block)), views))
        first, second = np.concatenate([everybody, rows + start]), np.concatenate([linked, columns])
        links = coo_matrix((np.ones(len(first), dtype=np.int8), (first, second)), shape=(count, count))
        groups = connected_components(links, directed=False)[1].astype(np.int64)
        linked = np.unique(groups, return_index=True)[1][groups]
    return groups


def _near(first: Views, second: Views) -> Mask:
    near = np.zeros((len(first), len(second)), dtype=np.bool_)
    for (limit, ours), (_, theirs) in zip(first.spaces, second.spaces, strict=True):
        if len(ours) and len(theirs):
            near |= cosine_distances(ours, theirs) <= limit
    return near
