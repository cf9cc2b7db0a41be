"""Blurs of whole batches: box, Gaussian, median and bilateral; beyond its edges an image goes on as in a mirror."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages

#: How many images are worked on at a time, so that what lies between two steps stays in the processor's cache.
_BLOCK_BYTES = 1 << 16


def box_blur(images: ByteImages, size: int) -> ByteImages:
    """The mean of a square of that many pixels; an even one reaches farther up and to the left.

    Example:
        >>> image = np.array([[0, 90, 0], [0, 0, 0], [0, 0, 0]], dtype=np.uint8)
        >>> box_blur(image[None, :, :, None], 3)[0, 1, :, 0].tolist()
        [20, 10, 20]
    """
    if size == 1:
        return images.copy()
    wide = _padded(images, size // 2, size - 1 - size // 2).astype(np.uint16)
    rows = _summed(wide, size, axis=1)
    total: NDArray[np.uint16] = _summed(rows, size, axis=2)
    # The square's area is at most 49, so the sums fit 16 bits; half of it more rounds to the nearest.
    total += np.uint16(size * size // 2)
    means: ByteImages = np.floor_divide(total, np.uint16(size * size), out=total).astype(np.uint8)
    return means


def gaussian_blur(images: ByteImages, size: int) -> ByteImages:
    """By a Gaussian of that odd width, with the deviation that OpenCV gives it: 0.3 ((size - 1) / 2 - 1) + 0.8."""
    if size == 1:
        return images.copy()
    deviation = 0.3 * ((size - 1) / 2 - 1) + 0.8
    weights = np.exp(-((np.arange(size) - size // 2) ** 2) / (2 * deviation**2))
    weights /= weights.sum()
    wide = _padded(images, size // 2, size // 2).astype(np.float32)
    rows = _summed(wide, size, axis=1, weights=weights)
    total = _summed(rows, size, axis=2, weights=weights)
    return np.asarray(np.rint(total), dtype=np.uint8)


def median_blur(images: ByteImages, size: int) -> ByteImages:
    """The median of a square of that odd width."""
    if size == 1:
        return images.copy()
    result = np.empty_like(images)
    block = max(1, _BLOCK_BYTES // images[0].size) if len(images) else 1
    for start in range(0, len(images), block):
        result[start : start + block] = _medians(images[start : start + block], size)
    return result


def bilateral_blur(images: ByteImages, size: int, *, tones: float, space: float) -> ByteImages:
    """A Gaussian in space and in tone, so that edges stay: over the disc of that odd width.

    Args:
        images: uint8, N x H x W x C.
        size: the disc's width.
        tones: the deviation in tone; the distance of two pixels is the sum over their channels.
        space: the deviation in pixels.
    """
    half, (_, height, width, channels) = size // 2, images.shape
    wide = _padded(images, half, half).astype(np.float32)
    here = wide[:, half : half + height, half : half + width]
    total = np.zeros(images.shape, dtype=np.float32)
    weight = np.zeros((*images.shape[:3], 1), dtype=np.float32)
    for down in range(-half, half + 1):
        for across in range(-half, half + 1):
            if (squared := down * down + across * across) > half * half:
                continue
            other = wide[:, half + down :, half + across :][:, :height, :width]
            apart = other - here
            if channels > 1:  # (a sum over an axis of one would be slow)
                apart = np.abs(apart).sum(axis=3, keepdims=True)
            apart *= apart
            apart *= np.float32(-1 / (2 * tones**2))
            apart -= np.float32(squared / (2 * space**2))
            share = np.exp(apart, out=apart)
            weight += share
            total += share * other
    return np.rint(total / weight).astype(np.uint8)


def _padded(images: ByteImages, before: int, after: int) -> ByteImages:
    """What np.pad gives in the mode reflect, for small batches in a fraction of its time."""
    count, height, width, channels = images.shape
    wide = np.empty((count, height + before + after, width + before + after, channels), dtype=np.uint8)
    inside = wide[:, before : before + height]
    inside[:, :, before : before + width] = images
    for place, source in _mirrored(width, before, after):
        inside[:, :, place] = inside[:, :, source]
    for place, source in _mirrored(height, before, after):
        wide[:, place] = wide[:, source]
    return wide


@cache
def _mirrored(length: int, before: int, after: int) -> list[tuple[int, int]]:
    """Places outside of a padded row, and those inside that they mirror."""
    sources = np.pad(np.arange(length), (before, after), mode="reflect") + before
    return [(place, source) for place, source in enumerate(sources.tolist()) if place != source]


def _summed(wide: NDArray[Any], size: int, *, axis: int, weights: NDArray[np.float64] | None = None) -> NDArray[Any]:
    """The (weighted) sum of so many neighbours along an axis, which gets shorter by one less."""
    length = wide.shape[axis] - size + 1
    total: NDArray[Any] | None = None
    for place in range(size):
        part = wide[:, place : place + length] if axis == 1 else wide[:, :, place : place + length]
        if weights is not None:
            part = part * wide.dtype.type(weights[place])
        total = part.copy() if total is None else np.add(total, part, out=total)
    assert total is not None
    return total


def _medians(images: ByteImages, size: int) -> ByteImages:
    """By forgetting: of just over half of the values, neither the least nor the greatest can be the median."""
    _, height, width, _ = images.shape
    wide = np.ascontiguousarray(_padded(images, size // 2, size // 2))
    values = [wide[:, y : y + height, x : x + width] for y in range(size) for x in range(size)]
    count = len(values) // 2 + 2
    held, waiting = [value.copy() for value in values[:count]], values[count:]
    scratch = np.empty_like(held[0])
    while True:
        _ends_outside(held, scratch)
        if len(held) == 3:
            return held[1]
        last = held.pop()
        np.copyto(last, waiting.pop())
        held[0] = last


def _ends_outside(held: list[ByteImages], scratch: ByteImages) -> None:
    """Brings the least of the values, pixel by pixel, to the front of the list, and the greatest to its end."""
    middle = len(held) // 2
    for low in range(middle):
        _in_order(held, low, len(held) - 1 - low, scratch)
    for low in range(1, len(held) - middle):
        _in_order(held, 0, low, scratch)
    for high in range(middle, len(held) - 1):
        _in_order(held, high, len(held) - 1, scratch)


def _in_order(held: list[ByteImages], low: int, high: int, scratch: ByteImages) -> None:
    np.minimum(held[low], held[high], out=scratch)
    np.maximum(held[low], held[high], out=held[high])
    np.copyto(held[low], scratch)
