"""A few numbers for each image whose products come near the SSIM: they say which images are worth comparing.

With geometric means in place of arithmetic ones, both factors of SSIM in a window are inner products. The second is
that of the window's pixels less their mean, and of one constant, both over the root of the variance plus a constant;
the first that of the mean and another constant, likewise. Such vectors, of some windows of an image, are projected on
the directions in which the references vary most.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from diffgan.filters.ssim import WINDOW, Planes

Float32s = NDArray[np.float32]
Number = TypeVar("Number", bound=np.generic)

#: Numbers for each image.
SIZE = 256

#: Half of SSIM's two constants, for pixels in [0, 255].
_C1, _C2 = np.float32((0.01 * 255) ** 2 / 2), np.float32((0.03 * 255) ** 2 / 2)
#: Windows along each axis.
_WINDOWS = 9
#: References that the directions are found with: more would cost time and change little.
_SAMPLE = 1024
#: Images handled at a time: always as many, so that rounding does not depend on how many are given.
_BLOCK = 64


class Patterns:
    """Numbers that stand for an image in a search for similar ones.

    Args:
        references: at least one image; the directions come from a fixed sample of them.
    """

    def __init__(self, references: Planes) -> None:
        rows = np.random.default_rng(0).permutation(len(references))[:_SAMPLE]
        self._directions = _main_directions(_vectors(references[np.sort(rows)]))

    @property
    def size(self) -> int:
        """How many numbers an image has."""
        return int(self._directions.shape[1])

    def __call__(self, planes: Planes) -> Float32s:
        """N x C x H x W to N x up to `SIZE`."""
        result = np.empty((len(planes), self._directions.shape[1]), dtype=np.float32)
        for start in range(0, len(planes), _BLOCK):
            part = padded(planes[start : start + _BLOCK], _BLOCK)
            result[start : start + _BLOCK] = (_vectors(part) @ self._directions)[: len(planes) - start]
        return result


def padded(rows: NDArray[Number], count: int) -> NDArray[Number]:
    """The rows, and zeros to make them as many as `count`: products of one shape round in one way."""
    if len(rows) == count:
        return rows
    return np.concatenate([rows, np.zeros((count - len(rows), *rows.shape[1:]), dtype=rows.dtype)])


def _vectors(planes: Planes) -> Float32s:
    """N x (2 · windows · (49 + 1)), each of length 1; the product of two comes near their SSIM."""
    windows = _windows(planes)
    count, places, pixels = windows.shape
    shape = np.empty((count, places, pixels + 1), dtype=np.float32)
    body = shape[..., :-1]
    body[...] = windows
    means = body.mean(axis=2, keepdims=True)
    body -= means
    body /= np.float32(np.sqrt(pixels - 1))
    shape[..., -1] = np.sqrt(_C2)
    shape /= np.sqrt(places * np.einsum("nwp,nwp->nw", shape, shape))[..., None]
    brightness = np.concatenate([means, np.full_like(means, np.sqrt(_C1))], axis=2)
    brightness /= np.linalg.norm(brightness, axis=2, keepdims=True)
    return (brightness[..., None] * shape[:, :, None]).reshape(count, -1)


def _windows(planes: Planes) -> Planes:
    """Some windows of each image: N x windows x 49."""
    count, _, height, width = planes.shape
    windows = np.lib.stride_tricks.sliding_window_view(planes, (WINDOW, WINDOW), axis=(2, 3))
    chosen = windows[:, :, _places(height)[:, None], _places(width)[None]]
    return chosen.reshape(count, -1, WINDOW * WINDOW)


def _places(length: int) -> NDArray[np.int64]:
    """Where windows start along an axis: the first, the last, and some between."""
    last = length - WINDOW
    return np.unique(np.linspace(0, last, min(last + 1, _WINDOWS)).round().astype(np.int64))


def _main_directions(vectors: Float32s) -> Float32s:
    """Columns of length 1, through the smaller of the two square matrices; as many as are there to be told apart."""
    size = min(SIZE, *vectors.shape)
    few = len(vectors) < vectors.shape[1]
    square = vectors @ vectors.T if few else vectors.T @ vectors
    values, directions = eigh(square, subset_by_index=(len(square) - size, len(square) - 1))
    if not few:
        return np.ascontiguousarray(directions)
    distinct = values > 1e-5 * values[-1]
    return np.ascontiguousarray(vectors.T @ (directions[:, distinct] / np.sqrt(values[distinct])))
