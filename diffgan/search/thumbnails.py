"""Small grey or coloured copies of images: enough to tell whether two show nearly the same, at a part of the cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.stats import median_nearest_distance

#: The most pixels along a side.
SIDE = 7
#: Pixels of a block whose sum needs no more than 16 bits.
_FEW = 64
#: Images looked at, at most, for how far apart real ones are.
_SAMPLE = 10_000


def thumbnails(images: ByteImages) -> ByteImages:
    """Means of blocks: N x H x W x C to N x h x w x C with h and w up to 7.

    Example:
        >>> thumbnails(np.arange(4, dtype=np.uint8).reshape(1, 2, 2, 1).repeat(7, 1).repeat(7, 2))[0, ::4, ::4, 0]
        array([[0, 1],
               [2, 3]], dtype=uint8)
    """
    height, width = images.shape[1:3]
    if height % SIDE == 0 and width % SIDE == 0 and height * width // SIDE**2 <= _FEW:
        return _of_whole_blocks(images, height // SIDE, width // SIDE)
    rows, columns = _edges(height), _edges(width)
    sums = np.add.reduceat(images, rows, axis=1, dtype=np.uint32) if len(rows) < height else images
    sums = np.add.reduceat(sums, columns, axis=2, dtype=np.uint32) if len(columns) < width else sums
    area = np.diff(rows, append=height)[:, None, None] * np.diff(columns, append=width)[:, None]
    small: ByteImages = ((sums + area // 2) // area).astype(np.uint8)
    return small


def _of_whole_blocks(images: ByteImages, rows: int, columns: int) -> ByteImages:
    """The same, several times as fast, for blocks of few pixels."""
    sums = np.full((len(images), SIDE, SIDE, images.shape[3]), rows * columns // 2, dtype=np.uint16)
    for row in range(rows):
        for column in range(columns):
            sums += images[:, row::rows, column::columns]
    sums //= rows * columns
    return sums.astype(np.uint8)


def usual_distance(real: ByteImages, seed: int) -> float:
    """How far the thumbnail of a real image is from the next one's: the median, of at most 10,000 images."""
    order = np.random.default_rng((seed, 2)).permutation(len(real))[:_SAMPLE]
    return median_nearest_distance(thumbnails(real[np.sort(order)]))


def _edges(length: int) -> NDArray[np.int64]:
    """Where each block starts."""
    count = min(length, SIDE)
    return np.arange(count) * length // count
