"""The structural similarity (SSIM) of images, many pairs at a time.

The definition is scikit-image's `structural_similarity` with its defaults, and `data_range` 1 for images in [0, 1]:
uniform windows of 7 × 7, sample covariances, the mean over all windows that lie within the image, and over channels.

Sums over windows are of bytes, and whole numbers: float32 and int32 hold them exactly. Only the last quotient is
rounded, so the result is within 1e-6 of float64 (windows that are almost flat included, where a small difference of two
large sums is all there is), and the same for a pair whatever other pairs are computed with it.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError
from diffgan.images import ByteImages, ImageSpec

Floats = NDArray[np.float64]
Float32s = NDArray[np.float32]
Whole = NDArray[np.int32]
#: Bytes, N x C x H x W: the order in which windows are summed fast.
Planes = NDArray[np.uint8]

WINDOW = 7

_PIXELS = WINDOW * WINDOW
#: The two constants of SSIM, in units of the sums that stand for means and for variances here.
_C1 = np.float32(0.01**2 * (255 * _PIXELS) ** 2)
_C2 = np.float32(0.03**2 * 255**2 * _PIXELS * (_PIXELS - 1))
#: Pixels handled at a time, so that they stay in the processor's cache.
_BLOCK_PIXELS = 1 << 18


def ssim(first: ByteImages, second: ByteImages) -> Floats:
    """The SSIM of each pair of images, from -1 to 1; 1 for equal ones.

    Args:
        first: N x H x W x C, or one image that is compared with every second one.
        second: N x H x W x C.

    Raises:
        DataError: they differ in size or number, or are smaller than a window.

    Example:
        >>> import numpy as np
        >>> black, white = np.zeros((1, 8, 8, 1), np.uint8), np.full((1, 8, 8, 1), 255, np.uint8)
        >>> ssim(black, black).tolist(), ssim(black, white).round(6).tolist()
        ([1.0], [0.0001])
    """
    check_window(ImageSpec.of_bytes(second))
    if first.shape[1:] != second.shape[1:] or len(first) not in (1, len(second)):
        raise DataError(
            f"Images of shapes {first.shape} and {second.shape} make no pairs: give the same size and number of both, "
            "or one image first."
        )
    return ssim_of_planes(to_planes(first), to_planes(second))


def check_window(spec: ImageSpec) -> None:
    """Makes certain that a window fits into images of a size.

    Raises:
        DataError: it does not.
    """
    if min(spec.height, spec.width) < WINDOW:
        raise DataError(
            f"SSIM needs images of at least {WINDOW}×{WINDOW} pixels, but these are {spec.height}×{spec.width}: "
            "leave the SSIM filter out, or give larger images."
        )


def to_planes(images: ByteImages) -> Planes:
    """Images, N x H x W x C, in the order that `ssim_of_planes` takes; no copy where there is one channel."""
    return np.ascontiguousarray(images.transpose(0, 3, 1, 2))


def ssim_of_planes(first: Planes, second: Planes) -> Floats:
    """As `ssim`, for images whose planes are apart and whose sizes are certain to fit."""
    scores = np.empty(len(second))
    step = max(1, _BLOCK_PIXELS // max(1, int(np.prod(second.shape[1:]))))
    for start in range(0, len(second), step):
        rows = slice(start, start + step)
        scores[rows] = _block(first if len(first) == 1 else first[rows], second[rows])
    return scores


def _block(first: Planes, second: Planes) -> Floats:
    one, other = first.astype(np.float32), second.astype(np.float32)
    covariance = _window_sums(one * other)
    one_sum, one_variance = _sums_and_variances(one)
    other_sum, other_variance = _sums_and_variances(other)
    product = one_sum * other_sum
    covariance *= _PIXELS
    covariance -= product
    squares = np.multiply(other_sum, other_sum, out=other_sum)
    squares += one_sum * one_sum
    other_variance += one_variance
    above = _twice_and(product, _C1)
    above *= _twice_and(covariance, _C2)
    below = squares.astype(np.float32)
    below += _C1
    deviations = other_variance.astype(np.float32)
    deviations += _C2
    below *= deviations
    above /= below
    scores: Floats = above.reshape(len(above), -1).mean(axis=1, dtype=np.float64)
    return scores


def _twice_and(numbers: Whole, constant: np.float32) -> Float32s:
    result = numbers.astype(np.float32)
    result *= 2
    result += constant
    return result


def _sums_and_variances(pixels: Float32s) -> tuple[Whole, Whole]:
    """Of each window: its sum, and its variance times 49 × 48."""
    sums = _window_sums(pixels)
    np.multiply(pixels, pixels, out=pixels)
    variances = _window_sums(pixels)
    variances *= _PIXELS
    variances -= sums * sums
    return sums, variances


def _window_sums(pixels: Float32s) -> Whole:
    """N x C x H x W to N x C x (H - 6) x (W - 6): along rows by a product, which is fastest, then down the columns."""
    *outer, height, width = pixels.shape
    along = (pixels.reshape(-1, width) @ _band(width)).reshape(*outer, height, width - WINDOW + 1)
    rows = height - WINDOW + 1
    two = along[..., :-1, :] + along[..., 1:, :]
    seven = two[..., :rows, :] + two[..., 2 : 2 + rows, :]
    seven += two[..., 4 : 4 + rows, :]
    seven += along[..., 6:, :]
    return seven.astype(np.int32)


@lru_cache(maxsize=8)
def _band(width: int) -> Float32s:
    """The matrix that sums 7 neighbours of a row."""
    starts = np.arange(width - WINDOW + 1)
    offsets = np.arange(width)[:, None] - starts
    return ((offsets >= 0) & (offsets < WINDOW)).astype(np.float32)
