"""Small grey or coloured copies of images: enough to tell whether two show nearly the same, at a part of the cost."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.stats import median_nearest_distance

#: The most pixels along a side, unless told.
SIDE = 7
#: Pixels of a block whose sum needs no more than 16 bits.
_FEW = 64
#: Images looked at, at most, for how far apart real ones are.
_SAMPLE = 10_000


def thumbnails(images: ByteImages, side: int = SIDE) -> ByteImages:
    """Means of blocks: N x H x W x C to N x h x w x C with h and w up to `side`.

    Example:
        >>> thumbnails(np.arange(4, dtype=np.uint8).reshape(1, 2, 2, 1).repeat(7, 1).repeat(7, 2))[0, ::4, ::4, 0]
        array([[0, 1],
               [2, 3]], dtype=uint8)
    """
    height, width = images.shape[1:3]
    if height % side == 0 and width % side == 0 and height * width // side**2 <= _FEW:
        return _of_whole_blocks(images, height // side, width // side)
    rows, columns = _edges(height, side), _edges(width, side)
    sums = np.add.reduceat(images, rows, axis=1, dtype=np.uint32) if len(rows) < height else images
    sums = np.add.reduceat(sums, columns, axis=2, dtype=np.uint32) if len(columns) < width else sums
    area = np.diff(rows, append=height)[:, None, None] * np.diff(columns, append=width)[:, None]
    small: ByteImages = ((sums + area // 2) // area).astype(np.uint8)
    return small


def _of_whole_blocks(images: ByteImages, rows: int, columns: int) -> ByteImages:
    """The same, several times as fast, for blocks of few pixels."""
    count, height, width, channels = images.shape
    sums = np.full((count, height // rows, width // columns, channels), rows * columns // 2, dtype=np.uint16)
    for row in range(rows):
        for column in range(columns):
            sums += images[:, row::rows, column::columns]
    sums //= rows * columns
    return sums.astype(np.uint8)


def usual_distance(real: ByteImages, seed: int) -> float:
    """How far the thumbnail of a real image is from the next one's: the median, of at most 10,000 images."""
    order = np.random.default_rng((seed, 2)).permutation(len(real))[:_SAMPLE]
    return median_nearest_distance(thumbnails(real[np.sort(order)]))


def _edges(length: int, side: int) -> NDArray[np.int64]:
    """Where each block starts."""
    count = min(length, side)
    return np.arange(count) * length // count
