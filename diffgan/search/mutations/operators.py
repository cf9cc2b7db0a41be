"""The operators of DRFuzz and DFlare: mutations with parameters drawn for each image from the ranges they publish."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.mutations.affine import Sources, about_corner, rotations, scalings, shears, translations, warp
from diffgan.search.mutations.blurs import bilateral_blur, box_blur, gaussian_blur, median_blur
from diffgan.search.mutations.pixels import (
    additive_noise,
    brightness,
    contrast,
    dilate,
    erode,
    multiplicative_noise,
    patch,
    random_pixels,
    salt_and_pepper,
)

Rng = np.random.Generator

#: Takes images and a source of randomness; the images that it gives are new ones.
Mutation = Callable[[ByteImages, Rng], ByteImages]

#: Of both peers.
SALT_AND_PEPPER = 0.004

#: The side on which lengths in pixels are as published; on others they are in proportion.
PUBLISHED_SIDE = 28

_KERNELS = ((1, 2), (2, 1), (2, 2), (1, 3), (3, 1), (3, 3))

#: Of DRFuzz's noise, with tones from 0 to 1; only the ends of the list are known, so it is even in its logarithm.
_VARIANCES = (2.0, 1.0, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001)


def mutate(operators: Sequence[Mutation], chosen: NDArray[np.int64], images: ByteImages, rng: Rng) -> ByteImages:
    """Each image by the operator chosen for it, all those of one operator at once.

    Args:
        operators: the mutations.
        chosen: the place of one of them, for each image.
        images: uint8, N x H x W x C.
        rng: the parameters are drawn from it, operator by operator.
    """
    result = np.empty_like(images)
    for place in np.unique(chosen).tolist():
        rows = np.flatnonzero(chosen == place)
        result[rows] = operators[place](images[rows], rng)
    return result


def _by_lot(*variants: Mutation) -> Mutation:
    """One of several for each image."""

    def drawn(images: ByteImages, rng: Rng) -> ByteImages:
        return mutate(variants, rng.integers(len(variants), size=len(images)), images, rng)

    return drawn


def _uniform(low: float, high: float, count: int, rng: Rng) -> NDArray[np.float32]:
    return rng.uniform(low, high, count).astype(np.float32)


def _translated(images: ByteImages, rng: Rng) -> ByteImages:
    _, height, width, _ = images.shape
    dx, dy = (_uniform(-3, 3, len(images), rng) * (side / PUBLISHED_SIDE) for side in (width, height))
    return warp(images, translations(dx, dy))


def _rotated(images: ByteImages, rng: Rng) -> ByteImages:
    return warp(images, rotations(_uniform(-50, 50, len(images), rng)))


def _from_corner(sources: Callable[[NDArray[np.float32]], Sources], low: float, high: float) -> Mutation:
    """As OpenCV maps that are not centred: the object moves, too."""

    def mapped(images: ByteImages, rng: Rng) -> ByteImages:
        drawn = sources(_uniform(low, high, len(images), rng))
        return warp(images, about_corner(drawn, height=images.shape[1], width=images.shape[2]))

    return mapped


def _toned(function: Callable[[ByteImages, NDArray[np.float32]], ByteImages], low: float, high: float) -> Mutation:
    return lambda images, rng: function(images, _uniform(low, high, len(images), rng))


def _noisy(variances: Sequence[float]) -> Mutation:
    deviations = 255 * np.sqrt(np.array(variances, dtype=np.float32))
    return lambda images, rng: additive_noise(images, deviations[rng.integers(len(variances), size=len(images))], rng)


def _morphed(function: Callable[[ByteImages, int, int], ByteImages]) -> Mutation:
    def by(height: int, width: int) -> Mutation:
        return lambda images, rng: function(images, height, width)  # noqa: ARG005 - nothing is drawn

    return _by_lot(*(by(height, width) for height, width in _KERNELS))


def _blurred(function: Callable[[ByteImages, int], ByteImages], *sizes: int) -> list[Mutation]:
    def by(size: int) -> Mutation:
        return lambda images, rng: function(images, size)  # noqa: ARG005 - nothing is drawn

    return [by(size) for size in sizes]


def _patched(tone: int | None) -> Mutation:
    return lambda images, rng: patch(images, tone, rng)


def _bilateral(images: ByteImages, rng: Rng) -> ByteImages:  # noqa: ARG001 - nothing is drawn
    """A disc of 9 pixels, with deviations of 75 in tone and in space."""
    return bilateral_blur(images, 9, tones=75, space=75)


def _salted(images: ByteImages, rng: Rng) -> ByteImages:
    return salt_and_pepper(images, SALT_AND_PEPPER, rng)


DRFUZZ: Mapping[str, Mutation] = {
    "translate": _translated,
    "scale": _from_corner(scalings, 0.7, 1.2),
    "shear": _from_corner(shears, -0.6, 0.6),
    "rotate": _rotated,
    "contrast": _toned(contrast, 0.5, 1.5),
    "brightness": _toned(brightness, -20, 20),
    "blur": _by_lot(
        *_blurred(box_blur, 3, 4, 5),
        *_blurred(gaussian_blur, 3, 5, 7),
        *_blurred(median_blur, 3, 5),
        _bilateral,
    ),
    "erode": _morphed(erode),
    "dilate": _morphed(dilate),
    "reverse": _patched(None),
    "white": _patched(255),
    "black": _patched(0),
    "noise": _noisy(_VARIANCES),
    "speckle": multiplicative_noise,
    "salt-and-pepper": _salted,
}

DFLARE: Mapping[str, Mutation] = {
    "noise": _noisy([0.1]),
    "salt-and-pepper": _salted,
    "speckle": multiplicative_noise,
    "pixels": lambda images, rng: random_pixels(images, 9, rng),
    "box": _by_lot(*_blurred(box_blur, 1, 2, 3, 4, 5)),
    "gaussian": _by_lot(*_blurred(gaussian_blur, 1, 3, 5, 7)),
    "median": _by_lot(*_blurred(median_blur, 1, 3, 5, 7)),
}
