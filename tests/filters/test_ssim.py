"""SSIM: scikit-image's is the truth, some values are worked out by hand."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import skimage.metrics
from hypothesis import given
from hypothesis import strategies as st

from diffgan.errors import DataError
from diffgan.filters.ssim import ssim
from diffgan.images import ByteImages

Maker = Callable[[np.random.Generator, tuple[int, ...]], ByteImages]

C1, C2 = 0.01**2, 0.03**2


def truth(first: ByteImages, second: ByteImages) -> list[float]:
    """scikit-image's, one pair at a time, in double precision."""
    measure: Callable[..., float] = skimage.metrics.structural_similarity
    pairs = zip(first / 255, second / 255, strict=True)
    if first.shape[3] == 1:
        return [measure(one[..., 0], other[..., 0], win_size=7, data_range=1) for one, other in pairs]
    return [measure(one, other, win_size=7, data_range=1, channel_axis=-1) for one, other in pairs]


def noise(rng: np.random.Generator, shape: tuple[int, ...]) -> ByteImages:
    return rng.integers(0, 256, shape, dtype=np.uint8)


def nearly_black(rng: np.random.Generator, shape: tuple[int, ...]) -> ByteImages:
    return rng.integers(0, 2, shape, dtype=np.uint8)


def nearly_white(rng: np.random.Generator, shape: tuple[int, ...]) -> ByteImages:
    return rng.integers(253, 256, shape, dtype=np.uint8)


def strokes(rng: np.random.Generator, shape: tuple[int, ...]) -> ByteImages:
    """White on black, smooth at the edges."""
    images = np.zeros(shape)
    for image in images:
        row, column = rng.integers(0, shape[1] - 3), rng.integers(0, shape[2] - 3)
        image[row : row + 3] = rng.uniform(0.3, 1)
        image[:, column : column + 3] += rng.uniform(0, 0.5)
    return np.clip(images * 255, 0, 255).astype(np.uint8)


@pytest.mark.parametrize("maker", [noise, nearly_black, nearly_white, strokes])
@pytest.mark.parametrize("size", [(7, 7), (8, 8), (9, 14), (28, 28), (32, 32), (64, 64)])
@pytest.mark.parametrize("channels", [1, 3])
def test_agrees_with_scikit_image(maker: Maker, size: tuple[int, int], channels: int) -> None:
    rng = np.random.default_rng(1)
    shape = (12, *size, channels)
    first, second = maker(rng, shape), maker(rng, shape)
    second[:4] = noise(rng, (4, *size, channels))
    second[4:8] = np.clip(first[4:8] * 0.8 + 10, 0, 255).astype(np.uint8)
    assert ssim(first, second) == pytest.approx(truth(first, second), abs=1e-6)


@pytest.mark.parametrize("channels", [1, 3])
def test_flat_images_are_compared_by_their_brightness(channels: int) -> None:
    levels = np.array([0, 1, 128, 254, 255], dtype=np.uint8)
    images = np.zeros((5, 10, 10, channels), dtype=np.uint8) + levels[:, None, None, None]
    for one, level in enumerate(levels / 255):
        expected = (2 * level * (levels / 255) + C1) / (level**2 + (levels / 255) ** 2 + C1)
        assert ssim(images[one : one + 1], images) == pytest.approx(expected, abs=1e-6)


def test_one_window_worked_out_by_hand() -> None:
    """A white pixel each, at two places: means 1/49, variances 1/49, covariance -1 / (48 · 49)."""
    images = np.zeros((2, 7, 7, 1), dtype=np.uint8)
    images[0, 2, 3], images[1, 5, 1] = 255, 255
    expected = (C2 - 2 / (48 * 49)) / (2 / 49 + C2)
    assert ssim(images[:1], images[1:])[0] == pytest.approx(expected, abs=1e-7)


def test_the_mean_over_windows_worked_out_by_hand() -> None:
    """7 × 8: in one of two windows both are black, in the other one of them has a white pixel."""
    images = np.zeros((2, 7, 8, 1), dtype=np.uint8)
    images[0, 3, 7] = 255
    lit = C1 / (1 / 49**2 + C1) * C2 / (1 / 49 + C2)
    assert ssim(images[:1], images[1:])[0] == pytest.approx((1 + lit) / 2, abs=1e-7)


@given(
    seed=st.integers(0, 1 << 32), height=st.integers(7, 20), width=st.integers(7, 20), channels=st.sampled_from([1, 3])
)
def test_equal_images_have_exactly_one_and_order_does_not_matter(
    seed: int, height: int, width: int, channels: int
) -> None:
    first, second = noise(np.random.default_rng(seed), (2, 3, height, width, channels))
    assert ssim(first, first).tolist() == [1, 1, 1]
    assert ssim(first, second) == pytest.approx(ssim(second, first), abs=1e-7)
    assert np.all(np.abs(ssim(first, second)) <= 1)


def test_a_pair_has_the_same_score_in_any_company() -> None:
    rng = np.random.default_rng(0)
    images, one = noise(rng, (700, 28, 28, 1)), noise(rng, (1, 28, 28, 1))
    together = ssim(one, images)
    assert np.array_equal(together, ssim(np.repeat(one, 700, axis=0), images))
    for rows in (slice(0, 1), slice(5, 6), slice(330, 690)):
        assert np.array_equal(ssim(one, images[rows]), together[rows])


def test_no_pairs_are_no_scores() -> None:
    none = np.zeros((0, 8, 8, 1), dtype=np.uint8)
    assert ssim(none, none).shape == (0,)


def test_images_smaller_than_a_window_are_refused() -> None:
    small = np.zeros((1, 6, 9, 1), dtype=np.uint8)
    with pytest.raises(DataError, match="at least 7×7 pixels, but these are 6×9"):
        ssim(small, small)


@pytest.mark.parametrize("shape", [(2, 8, 9, 1), (2, 8, 8, 3), (3, 8, 8, 1)])
def test_images_that_make_no_pairs_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(DataError, match="make no pairs"):
        ssim(np.zeros((2, 8, 8, 1), dtype=np.uint8), np.zeros(shape, dtype=np.uint8))
