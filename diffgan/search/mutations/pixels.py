"""Mutations of single pixels and small squares: noise, tones, patches, and the morphology of small shapes."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages

Rng = np.random.Generator


def contrast(images: ByteImages, factor: NDArray[np.float32]) -> ByteImages:
    """Every tone times a factor, one for each image.

    Example:
        >>> contrast(np.full((1, 1, 1, 1), 200, dtype=np.uint8), np.array([1.5], dtype=np.float32)).item()
        255
    """
    return clipped(images * per_image(factor))


def brightness(images: ByteImages, amount: NDArray[np.float32]) -> ByteImages:
    """An amount more on every tone, one for each image."""
    return clipped(images + per_image(amount))


def additive_noise(images: ByteImages, deviation: NDArray[np.float32], rng: Rng) -> ByteImages:
    """Gaussian noise, with a deviation in tones for each image."""
    noise = rng.standard_normal(images.shape, dtype=np.float32)
    noise *= per_image(deviation)
    noise += images
    return clipped(noise)


def multiplicative_noise(images: ByteImages, rng: Rng) -> ByteImages:
    """Each tone more by a standard normal share of itself."""
    noise = rng.standard_normal(images.shape, dtype=np.float32)
    noise += 1
    noise *= images
    return clipped(noise)


def salt_and_pepper(images: ByteImages, share: float, rng: Rng) -> ByteImages:
    """Half of this share of the pixels (rounded up) white, as many black; some may be drawn twice."""
    _, height, width, _ = images.shape
    count = math.ceil(share * height * width / 2)
    places = rng.integers(height * width, size=(len(images), 2, count))
    result = _by_pixel(images)
    rows = np.arange(len(images))[:, None]
    result[rows, places[:, 0]] = 255
    result[rows, places[:, 1]] = 0
    return result.reshape(images.shape)


def random_pixels(images: ByteImages, most: int, rng: Rng) -> ByteImages:
    """None to `most` pixels of each image get random tones; some may be drawn twice."""
    _, height, width, channels = images.shape
    count = rng.integers(most + 1, size=len(images))
    places = rng.integers(height * width, size=(len(images), most))
    tones = rng.integers(256, size=(len(images), most, channels), dtype=np.uint8)
    result = _by_pixel(images)
    rows, nth = np.nonzero(np.arange(most) < count[:, None])
    result[rows, places[rows, nth]] = tones[rows, nth]
    return result.reshape(images.shape)


def patch_side(height: int, width: int) -> int:
    """2 pixels in 28, and in proportion; at least 1.

    Example:
        >>> patch_side(28, 28), patch_side(8, 8), patch_side(64, 64)
        (2, 1, 5)
    """
    return max(1, round(2 * min(height, width) / 28))


def patch(images: ByteImages, tone: int | None, rng: Rng) -> ByteImages:
    """A small square of each image gets this tone; None: it is reversed."""
    count, height, width, _ = images.shape
    side = patch_side(height, width)
    top = rng.integers(height - side + 1, size=count)[:, None, None]
    left = rng.integers(width - side + 1, size=count)[:, None, None]
    square = np.arange(side)
    where = np.arange(count)[:, None, None], top + square[:, None], left + square
    result = images.copy()
    result[where] = 255 - images[where] if tone is None else tone
    return result


def erode(images: ByteImages, height: int, width: int) -> ByteImages:
    """The least tone in a rectangle about each pixel; what lies outside the image does not count."""
    return ~dilate(~images, height, width)


def dilate(images: ByteImages, height: int, width: int) -> ByteImages:
    """The greatest tone in a rectangle about each pixel; an even one reaches farther up and to the left."""
    result = images.copy()
    for down in range(-(height // 2), (height + 1) // 2):
        for across in range(-(width // 2), (width + 1) // 2):
            here, there = _shifted(result, -down, -across), _shifted(images, down, across)
            np.maximum(here, there, out=here)
    return result


def _shifted(images: ByteImages, down: int, across: int) -> ByteImages:
    """What is left of the images without the first rows and columns; without the last where the numbers are below 0."""
    _, height, width, _ = images.shape
    rows, columns = slice(max(0, down), height + min(0, down)), slice(max(0, across), width + min(0, across))
    return images[:, rows, columns]


def per_image(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(values, dtype=np.float32)[:, None, None, None]


def clipped(tones: NDArray[np.float32]) -> ByteImages:
    """As bytes. (The peers cast without clipping, so that what was a little below black came out white.)"""
    np.rint(tones, out=tones)
    np.clip(tones, 0, 255, out=tones)
    return tones.astype(np.uint8)


def _by_pixel(images: ByteImages) -> ByteImages:
    """A copy, N x pixels x channels."""
    count, height, width, channels = images.shape
    return images.reshape(count, height * width, channels).copy()
