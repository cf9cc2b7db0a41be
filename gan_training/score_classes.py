"""Which classes the samples are of, and whether they are what was asked for."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.datasets import Dataset
from diffgan.features.learned import LearnedClassifier
from diffgan.gan_training.score_results import ClassFigures
from diffgan.images import ByteImages


def class_figures(
    dataset: Dataset,
    classifier: LearnedClassifier,
    images: ByteImages,
    intended: NDArray[np.int64] | None,
    *,
    classes: int | None,
) -> ClassFigures | None:
    """The classifier's labels of samples, counted; None where it recognises no classes.

    Args:
        dataset: whose classes they are.
        classifier: trained on it.
        images: samples.
        intended: the classes that were asked for.
        classes: how many the generator knows; intended labels compare only where the data has as many.
    """
    if not classifier.of_classes:
        return None
    labels = classifier.labels(images)
    shares = np.bincount(labels, minlength=len(dataset.classes)) / len(labels)
    asked = intended if classes == len(dataset.classes) else None
    return ClassFigures(
        shares=dict(zip(dataset.classes, shares.tolist(), strict=True)),
        smallest=float(shares.min()),
        largest=float(shares.max()),
        intended=None if asked is None else float(np.mean(labels == asked)),
        intended_by_class=None if asked is None else _by_class(labels == asked, asked, dataset.classes),
        classifier=classifier.accuracy,
    )


def _by_class(right: NDArray[np.bool_], asked: NDArray[np.int64], names: tuple[str, ...]) -> dict[str, float | None]:
    shares: dict[str, float | None] = {}
    for number, name in enumerate(names):
        chosen = right[asked == number]
        shares[name] = float(chosen.mean()) if len(chosen) else None
    return shares
