"""Cosine distances by matrix products, in blocks of bounded memory.

The distance of two vectors is 1 minus the cosine of the angle between them. A vector of zeros (an all-black image)
is at distance 1 from everything but another such vector, and 0 from that. All is float32, where two equal vectors can
come out some 1e-7 apart: distances below `RESOLUTION` are therefore 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError

Float32s = NDArray[np.float32]
Vectors = NDArray[Any]

RESOLUTION = 1e-6
_BLOCK_ROWS = 1024
_BLOCK_VALUES = 1 << 25


def directions(vectors: Vectors) -> Float32s:
    """The vectors at length 1, with one more coordinate that is 1 for a vector of zeros and 0 for all others.

    Through that coordinate, the product of two results is the cosine as this module defines it, zeros included.

    Args:
        vectors: N x anything, numbers of any type; each of the N is one vector. Their scale does not matter.

    Raises:
        DataError: they have no second axis, or a value is NaN or infinite.

    Example:
        >>> import numpy as np
        >>> directions(np.array([[3, 4], [0, 0]])).tolist()
        [[0.6000000238418579, 0.800000011920929, 0.0], [0.0, 0.0, 1.0]]
    """
    rows = as_rows(vectors).astype(np.float32)
    peak = np.maximum(rows.max(axis=1, initial=0), -rows.min(axis=1, initial=0))
    if not np.isfinite(peak).all():
        raise DataError("A vector holds NaN or infinity, so it has no direction: remove it, or mend what made it.")
    empty = peak == 0
    rows /= np.where(empty, 1, peak)[:, None]  # first the greatest to 1, so that no square underflows
    length = np.linalg.norm(rows, axis=1)
    unit = np.empty((rows.shape[0], rows.shape[1] + 1), dtype=np.float32)
    np.divide(rows, np.where(empty, 1, length)[:, None], out=unit[:, :-1])
    unit[:, -1] = empty
    return unit


def cosine_distances(first: Vectors, second: Vectors | None = None) -> Float32s:
    """The distance of every vector of the first (N x anything) from every one of the second (M x anything): N x M.

    Args:
        first: N vectors.
        second: M vectors; the first once more where left out.

    Raises:
        DataError: the vectors' sizes differ, or a value is NaN or infinite.

    Example:
        >>> import numpy as np
        >>> cosine_distances(np.array([[1, 0], [0, 0]]), np.array([[5, 0], [0, 2], [0, 0]])).tolist()
        [[0.0, 1.0, 1.0], [1.0, 1.0, 0.0]]
    """
    others = first if second is None else second
    check_same_size(as_rows(first).shape[1], as_rows(others).shape[1])
    right = directions(others)
    result = np.empty((len(first), len(right)), dtype=np.float32)
    for rows in blocks(len(first), as_rows(first).shape[1]):
        np.matmul(directions(first[rows]), right.T, out=result[rows])
        cosines_to_distances(result[rows])
    return result


def nearest_distances(vectors: Vectors) -> Float32s:
    """The distance of every vector from the nearest of the others; a copy at another place counts as another.

    Every pair of blocks is multiplied once and serves both; no more than two blocks and their product are in memory.

    Raises:
        DataError: there are fewer than two vectors, or a value is NaN or infinite.

    Example:
        >>> import numpy as np
        >>> nearest_distances(np.array([[1, 0], [2, 0], [0, 1]])).tolist()
        [0.0, 0.0, 1.0]
    """
    count, size = as_rows(vectors).shape
    if count < 2:
        raise DataError(f"A nearest neighbour needs at least 2 vectors, but there are {count}: give more.")
    closest = np.full(count, -2, dtype=np.float32)
    tiles = list(blocks(count, size))
    for place, rows in enumerate(tiles):
        left = directions(vectors[rows])
        for columns in tiles[place:]:
            cosines = left @ (left if columns == rows else directions(vectors[columns])).T
            if columns == rows:
                np.fill_diagonal(cosines, -2)
            np.maximum(closest[rows], cosines.max(axis=1), out=closest[rows])
            np.maximum(closest[columns], cosines.max(axis=0), out=closest[columns])
    return cosines_to_distances(closest)


def median_nearest_distance(vectors: Vectors) -> float:
    """The median of `nearest_distances`: half of the vectors have another at least this near.

    Raises:
        DataError: there are fewer than two vectors, or a value is NaN or infinite.
    """
    return float(np.median(nearest_distances(vectors)))


def cosines_to_distances(cosines: Float32s) -> Float32s:
    """Turns cosines into distances in place, and returns them: 1 minus each, and 0 below `RESOLUTION`."""
    np.subtract(1, cosines, out=cosines)
    cosines[cosines < RESOLUTION] = 0
    return cosines


def as_rows(vectors: Vectors) -> Vectors:
    """N x anything as N x size, without a copy where that is possible.

    Raises:
        DataError: there is no second axis.
    """
    if vectors.ndim < 2:
        raise DataError(f"Vectors came with shape {vectors.shape}; expected (N, …): one row for each vector.")
    return vectors.reshape(len(vectors), int(np.prod(vectors.shape[1:])))


def check_same_size(first: int, second: int) -> None:
    """Makes certain that two groups of vectors can be compared.

    Raises:
        DataError: their sizes differ.
    """
    if first != second:
        raise DataError(f"Vectors of {first} and of {second} values cannot be compared: give both the same shape.")


def blocks(count: int, size: int) -> Iterator[slice]:
    """Slices that cover `count` vectors of `size` values, each small enough to hold as float32."""
    rows = max(1, min(_BLOCK_ROWS, _BLOCK_VALUES // max(size, 1)))
    return (slice(start, min(start + rows, count)) for start in range(0, count, rows))
