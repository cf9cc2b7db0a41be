"""The classifier that is trained on the data's own labels, or found in the cache."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from diffgan.datasets import Dataset
from diffgan.features.learned import BATCH, Draw, LearnedClassifier, LearningSettings, train
from diffgan.features.learned_cache import cache_name, read_learned, write_learned
from diffgan.gan_training.augmentation import COPIES, AugmentationSettings, Augmenter

#: Images that a training goes through: so many at least, and large data twice.
FEWEST_SEEN, TIMES = 60_000, 2


def learned_classifier(
    dataset: Dataset,
    augmentation: AugmentationSettings,
    *,
    seed: int = 0,
    report: Callable[[int, int], None] = lambda *_: None,
) -> LearnedClassifier:
    """The classifier for some data, from the cache where it is there, else trained on the augmented images and cached.

    It recognises the data's classes. Where all images are of one class, it recognises which of the five
    transformations an image went through, which takes features of the same kind; its labels then say nothing.

    Args:
        dataset: what to train on.
        augmentation: how its images are changed.
        seed: of the training.
        report: called with the updates done and their number; not at all where it was cached.
    """
    of_classes = bool((dataset.counts() > 0).sum() > 1)
    settings = LearningSettings(
        outputs=len(dataset.classes) if of_classes else COPIES,
        channels=dataset.spec.channels,
        side=min(dataset.spec.height, dataset.spec.width),
        images=len(dataset),
        updates=max(FEWEST_SEEN, TIMES * len(dataset)) // BATCH,
        seed=seed,
    )
    name = cache_name(dataset.fingerprint, settings, augmentation.model_dump_json())
    found = read_learned(name, settings, of_classes=of_classes)
    if found is not None:
        return found
    network = train(settings, _draw(dataset, augmentation, of_classes), report=report)
    made = LearnedClassifier(network, of_classes=of_classes)
    if of_classes:
        made.accuracy = float(np.mean(made.labels(dataset.images) == dataset.labels))
    write_learned(name, made)
    return made


def _draw(dataset: Dataset, augmentation: AugmentationSettings, of_classes: bool) -> Draw:
    images, labels = torch.from_numpy(dataset.floats()), torch.from_numpy(dataset.labels)

    def draw(rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        copies = torch.randint(COPIES, (len(rows),), generator=generator)
        changed = Augmenter(augmentation, generator)(images[rows], copies)
        return changed, labels[rows] if of_classes else copies

    return draw
