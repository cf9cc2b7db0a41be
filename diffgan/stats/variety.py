"""How various a set of images is: geometric, Shannon's and Vendi's measures, each in a reading that has a name.

Features are N x D, a row an image. All logarithms are natural ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgan.errors import DataError, UsageError
from diffgan.stats.checks import Floats, check_numbers

#: Eigenvalues below this share of all are rounding errors of zero.
_NOTHING = 1e-12


def geometric_diversity(features: ArrayLike, *, sigma: float = 1.0) -> float:
    """log det(I + V Vᵀ / sigma²), V the features at length 1: finite for any number of images, 0 for none but zeros.

    Args:
        features: N x D; rows of zeros stay zeros.
        sigma: the noise that a feature is taken to have: the smaller, the more do small differences count. To be
            stated beside every figure.

    Raises:
        DataError: the features are no matrix, or hold NaN or infinity.
        UsageError: sigma is not above 0.

    Example:
        >>> round(geometric_diversity([[1, 0], [0, 2]]), 4)  # log (2 · 2)
        1.3863
    """
    if not (np.isfinite(sigma) and sigma > 0):
        raise UsageError(f"The geometric diversity's sigma is {sigma}; expected a number above 0, such as 1.")
    gram = _smaller_gram(_unit(features)) / sigma**2
    return float(np.linalg.slogdet(np.eye(len(gram)) + gram)[1])


def reference_geometric_diversity(features: ArrayLike) -> float:
    """|log det(V Vᵀ)| of the features as they are: the reference implementation's, for comparison only.

    Without the absolute value it would fall below 0 where images are alike; with it, sets of near copies score high. It
    is infinite, or made of rounding errors, where there are more images than features.

    Raises:
        DataError: the features are no matrix, or hold NaN or infinity.

    Example:
        >>> round(reference_geometric_diversity([[1, 0], [0, 2]]), 4)  # log 4
        1.3863
    """
    rows = _matrix(features)
    return abs(float(np.linalg.slogdet(rows @ rows.T)[1]))


def shannon_of_pixels(images: NDArray[np.generic]) -> float:
    """H of all pixels' tones as shares of their sum: high where light is spread evenly over images and places.

    It is the reading that the paper's figures fit: 1,000 images of 28 x 28 have at most ln 784,000 = 13.57.

    Raises:
        DataError: there is no pixel, all are black, or one is negative.

    Example:
        >>> round(shannon_of_pixels(np.array([[0, 100], [50, 50]])), 4)  # shares ½, ¼, ¼
        1.0397
    """
    tones = _tones(images)
    total = tones.sum()
    if total == 0:
        raise DataError("All pixels are black, so none has a share of the light: leave such sets out.")
    return _entropy(tones / total)


def shannon_of_tones(images: NDArray[np.generic]) -> float:
    """H of the histogram of tones over all pixels: at most ln 256 = 5.55 for bytes, whatever the images show.

    Raises:
        DataError: there is no pixel, or one is negative.

    Example:
        >>> round(shannon_of_tones(np.array([[0, 100], [50, 50]])), 4)  # shares ¼, ½, ¼
        1.0397
    """
    counts = np.unique(_tones(images), return_counts=True)[1]
    return _entropy(counts / counts.sum())


def vendi_score(features: ArrayLike) -> float:
    """How many images that have nothing in common would be as various: from 1 (all alike) to N.

    It is the exponential of the entropy of the eigenvalues of the cosine similarities, divided by N.

    Raises:
        DataError: the features are no matrix, hold NaN or infinity, or a row is all zeros.

    Example:
        >>> round(vendi_score([[1, 0], [0, 1], [0, 3]]), 4)  # eigenvalues ⅓ and ⅔
        1.8899
    """
    unit = _unit(features)
    if not np.linalg.norm(unit, axis=1).all():
        raise DataError("A row of the features is all zeros, so it is like none, itself included: leave it out.")
    eigenvalues = np.asarray(np.linalg.eigvalsh(_smaller_gram(unit) / len(unit)), dtype=np.float64)
    return float(np.exp(_entropy(eigenvalues)))


def _entropy(shares: Floats) -> float:
    some = shares[shares > _NOTHING]
    return max(0.0, -float((some * np.log(some)).sum()))


def _tones(images: NDArray[np.generic]) -> Floats:
    tones = check_numbers(images, "The list of images").ravel()
    if not len(tones) or tones.min() < 0:
        raise DataError("The images have no pixel, or one below 0; expected tones from 0 up: scale them first.")
    return tones


def _matrix(features: ArrayLike) -> Floats:
    rows = check_numbers(features, "The list of features")
    if rows.ndim != 2 or not rows.shape[1]:
        raise DataError(f"The features have shape {rows.shape}; expected (images, features): flatten them first.")
    return rows


def _unit(features: ArrayLike) -> Floats:
    rows = _matrix(features)
    peak = np.abs(rows).max(axis=1, keepdims=True)
    scaled = rows / np.where(peak == 0, 1, peak)  # first the greatest to 1, so that no square under- or overflows
    length = np.linalg.norm(scaled, axis=1, keepdims=True)
    return np.asarray(scaled / np.where(length == 0, 1, length))


def _smaller_gram(rows: Floats) -> Floats:
    """V Vᵀ or Vᵀ V, which have the same eigenvalues but for zeros."""
    return np.asarray(rows @ rows.T if len(rows) <= rows.shape[1] else rows.T @ rows)
