"""Mutations of images: golden values, other libraries' values, and what holds for every operator."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy import ndimage

from diffgan.images import ByteImages
from diffgan.search.mutations import DFLARE, DRFUZZ, Mutation, mutate
from diffgan.search.mutations.affine import about_corner, rotations, scalings, shears, translations, warp
from diffgan.search.mutations.blurs import bilateral_blur, box_blur, gaussian_blur, median_blur
from diffgan.search.mutations.pixels import (
    additive_noise,
    brightness,
    contrast,
    dilate,
    erode,
    patch,
    random_pixels,
    salt_and_pepper,
)

OPERATORS = {f"drfuzz {name}": one for name, one in DRFUZZ.items()} | {f"dflare {n}": one for n, one in DFLARE.items()}


def noise(*shape: int) -> ByteImages:
    return np.random.default_rng(1).integers(0, 256, shape, dtype=np.uint8)


def grey(*rows: list[int]) -> ByteImages:
    return np.array(rows, dtype=np.uint8)[None, :, :, None]


def seen(images: ByteImages) -> list[list[int]]:
    rows: list[list[int]] = images[0, :, :, 0].tolist()
    return rows


def test_as_many_operators_as_published() -> None:
    assert (len(DRFUZZ), len(DFLARE)) == (15, 7)


@pytest.mark.parametrize("shape", [(5, 8, 8, 1), (4, 28, 28, 1), (3, 32, 24, 3), (2, 64, 64, 3), (0, 8, 8, 1)])
@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_keeps_form_and_source_and_follows_from_the_seed(name: str, shape: tuple[int, ...]) -> None:
    images = noise(*shape)
    before = images.copy()
    made = [OPERATORS[name](images, np.random.default_rng(3)) for _ in range(2)]
    assert made[0].dtype == np.uint8
    assert made[0].shape == shape
    assert np.array_equal(made[0], made[1])
    assert np.array_equal(images, before)
    assert not np.shares_memory(made[0], images)


@pytest.mark.parametrize("name", sorted(OPERATORS.keys() - {"drfuzz erode", "drfuzz dilate", "dflare box"}))
def test_images_of_a_batch_get_parameters_of_their_own(name: str) -> None:
    images = np.repeat(noise(1, 28, 28, 1), 12, axis=0)
    made = OPERATORS[name](images, np.random.default_rng(0))
    assert len(np.unique(made.reshape(12, -1), axis=0)) > 2


def test_nothing_below_black_comes_out_white() -> None:
    """The peers' code wraps there."""
    dark = np.full((40, 8, 8, 1), 1, dtype=np.uint8)
    assert additive_noise(dark, np.full(40, 0.6, dtype=np.float32), np.random.default_rng(0)).max() < 6
    assert brightness(dark, np.full(40, -20, dtype=np.float32)).max() == 0
    for made in (DRFUZZ["speckle"](dark, np.random.default_rng(0)), DFLARE["speckle"](dark, np.random.default_rng(0))):
        assert made.max() < 8
    assert contrast(~dark, np.full(40, 1.5, dtype=np.float32)).min() == 255


def test_mutate_gives_each_image_to_its_operator() -> None:
    lighter: Mutation = lambda images, rng: images + np.uint8(1)  # noqa: E731
    darker: Mutation = lambda images, rng: images - np.uint8(1)  # noqa: E731
    made = mutate([lighter, darker], np.array([0, 1, 0]), np.full((3, 1, 1, 1), 9, np.uint8), np.random.default_rng(0))
    assert made.ravel().tolist() == [10, 8, 10]


def test_each_image_moves_by_its_own_amount() -> None:
    images = np.repeat(grey([0, 0, 0], [0, 200, 0], [0, 0, 0]), 3, axis=0)
    moved = warp(images, translations([1, 0, -0.5], [0, -1, 0]))
    assert seen(moved[:1]) == [[0, 0, 0], [0, 0, 200], [0, 0, 0]]
    assert seen(moved[1:2]) == [[0, 200, 0], [0, 0, 0], [0, 0, 0]]
    assert seen(moved[2:]) == [[0, 0, 0], [100, 100, 0], [0, 0, 0]]


def test_a_quarter_turn_is_exact_and_clockwise() -> None:
    images = noise(2, 9, 9, 3)
    assert np.array_equal(warp(images, rotations([90, 90])), np.rot90(images, k=-1, axes=(1, 2)))


def test_twice_as_large_halves_what_is_seen() -> None:
    ramp = grey(*[[0, 40, 80, 120]] * 4)
    assert seen(warp(ramp, scalings([2])))[0] == [30, 50, 70, 90]
    assert seen(warp(ramp, about_corner(scalings([2]), height=4, width=4)))[0] == [0, 20, 40, 60]


def test_a_shear_moves_rows_by_their_distance() -> None:
    image = grey([9, 0, 0], [9, 0, 0], [9, 0, 0])
    assert seen(warp(image, about_corner(shears([1]), height=3, width=3))) == [[9, 0, 0], [0, 9, 0], [0, 0, 9]]
    assert seen(warp(image, shears([1]))) == [[0, 0, 0], [9, 0, 0], [0, 9, 0]]


Filter = Callable[[np.ndarray, int], np.ndarray]


@pytest.mark.parametrize("shape", [(3, 9, 12, 1), (2, 8, 8, 3)])
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_box_is_scipys(shape: tuple[int, ...], size: int) -> None:
    images = noise(*shape)
    expected = ndimage.uniform_filter(images.astype(np.float64), (1, size, size, 1), mode="mirror")
    assert np.abs(box_blur(images, size) - expected).max() <= 0.5 + 1e-9


@pytest.mark.parametrize("size", [1, 3, 5, 7])
def test_median_is_scipys(size: int) -> None:
    images = noise(3, 9, 12, 3)
    expected = ndimage.median_filter(images, (1, size, size, 1), mode="mirror")
    assert np.array_equal(median_blur(images, size), expected)


def test_the_median_of_many_images_is_that_of_each() -> None:
    images = noise(200, 28, 28, 1)
    assert np.array_equal(median_blur(images, 3)[150:151], median_blur(images[150:151], 3))


def test_gaussian_is_scipys() -> None:
    images = noise(3, 9, 12, 1)
    for size, deviation in ((3, 0.8), (5, 1.1), (7, 1.4)):
        spread = (0, deviation, deviation, 0)
        expected = ndimage.gaussian_filter(images.astype(np.float64), spread, mode="mirror", radius=size // 2)
        assert np.abs(gaussian_blur(images, size) - expected).max() <= 0.501


@pytest.mark.parametrize("channels", [1, 3])
def test_bilateral_smooths_noise_and_keeps_edges(channels: int) -> None:
    rng = np.random.default_rng(0)
    step = np.zeros((1, 16, 16, channels))
    step[:, :, 8:] = 240
    noisy = np.clip(step + rng.normal(0, 5, step.shape), 0, 255).astype(np.uint8)
    smooth = bilateral_blur(noisy, 9, tones=20, space=75)
    assert smooth[:, :, 12:].std() < noisy[:, :, 12:].std() / 2
    assert smooth[0, 8, 8].min() - smooth[0, 8, 7].max() > 220


def test_bilateral_by_hand() -> None:
    # Four neighbours that are 2 apart in tone, each of weight exp(-2² / 2·2²) · exp(-1 / 2·1²) = 1/e.
    image = grey([9, 12, 9], [12, 10, 12], [9, 12, 9])
    assert seen(bilateral_blur(image, 3, tones=2, space=1))[1][1] == round((10 + 4 * 12 / np.e) / (1 + 4 / np.e))


def test_morphology_is_scipys() -> None:
    images = noise(2, 9, 12, 3)
    for height, width in ((1, 2), (2, 1), (2, 2), (1, 3), (3, 3)):
        widest = ndimage.maximum_filter(images, (1, height, width, 1), mode="constant", cval=0)
        assert np.array_equal(dilate(images, height, width), widest)
        least = ndimage.minimum_filter(images, (1, height, width, 1), mode="constant", cval=255)
        assert np.array_equal(erode(images, height, width), least)


@pytest.mark.parametrize(("side", "pixels"), [(8, 1), (28, 4), (64, 25)])
def test_a_patch_has_its_side_and_tone(side: int, pixels: int) -> None:
    images = np.full((30, side, side, 3), 100, dtype=np.uint8)
    for tone, expected in ((255, 255), (0, 0), (None, 155)):
        made = patch(images, tone, np.random.default_rng(0))
        changed = (made != images).any(axis=3)
        assert (changed.sum(axis=(1, 2)) == pixels).all()
        assert np.unique(made[changed]).tolist() == [expected]
        assert len({place.tobytes() for place in changed}) > 10


def test_salt_and_pepper_are_few() -> None:
    made = salt_and_pepper(np.full((50, 28, 28, 1), 100, dtype=np.uint8), 0.004, np.random.default_rng(0))
    white, black = ((made == tone).sum(axis=(1, 2, 3)) for tone in (255, 0))
    assert (white.max(), black.max()) == (2, 2)
    assert white.min() >= 0
    assert black.min() >= 1


def test_random_pixels_are_at_most_so_many() -> None:
    images = np.zeros((400, 28, 28, 1), dtype=np.uint8)
    changed = (random_pixels(images, 9, np.random.default_rng(0)) > 0).sum(axis=(1, 2, 3))
    assert changed.min() == 0
    assert changed.max() == 9
    assert 3.5 < changed.mean() < 5.5
