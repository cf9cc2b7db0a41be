"""Scores of generators on some data: the real side is worked out once, and serves any number of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from diffgan.datasets import Dataset
from diffgan.errors import DataError, GeneratorError, UsageError
from diffgan.features.extractors import Extractor
from diffgan.features.learned import LearnedClassifier
from diffgan.gan_training.augmentation import COPIES, AugmentationSettings, Augmenter
from diffgan.gan_training.learning import learned_classifier
from diffgan.gan_training.nearness import Among
from diffgan.gan_training.neighbours import K, Surroundings, surroundings
from diffgan.gan_training.score_classes import class_figures
from diffgan.gan_training.score_distances import SUBSETS, Features, frechet_distance, kernel_distance
from diffgan.gan_training.score_results import ClassFigures, Estimate, Nearness, Scores
from diffgan.generators.generator import Generator
from diffgan.images import ByteImages, to_bytes

__all__ = [
    "ClassFigures",
    "Estimate",
    "Nearness",
    "Scorer",
    "Scores",
    "Surroundings",
    "learned_classifier",
]

#: The paper's protocol.
SAMPLES, REPEATS = 10_000, 10

#: KID's subsets in a quick look.
QUICK_SUBSETS = 10

#: Features of real images are kept for the next generator up to so many values (256 MB).
MOST_KEPT = 1 << 26

#: Images that are floats at a time.
_AT_ONCE = 2048


def check_sizes(samples: int, repeats: int) -> None:
    """Makes certain that there is enough to compare.

    Raises:
        UsageError: there are too few samples or repeats.
    """
    if samples <= K:
        raise UsageError(f"{samples} samples were asked for; expected at least {K + 1}, usually {SAMPLES:,}.")
    if repeats < 1:
        raise UsageError(f"{repeats} repeats were asked for; expected at least 1, usually {REPEATS}.")


def check_size(generator: Generator, dataset: Dataset) -> None:
    """Makes certain that a generator's images can be compared with the data's.

    Raises:
        GeneratorError: they have another size.
    """
    if generator.spec != dataset.spec:
        raise GeneratorError(
            f"{generator.name} makes images of {generator.spec}, but those of {dataset.name} have {dataset.spec}: "
            "give the data that it was trained on."
        )


class Scorer:
    """Scores generators against some data.

    Each repeat draws `samples` images from the generator, and as many from the augmented data: a random part of its six
    copies of each image, with parameters drawn anew; where that is not enough, the six copies are gone through again.

    Args:
        dataset: the real images.
        augmentation: how they are augmented.
        extractor: what FID, KID and neighbours are measured on.
        classifier: says which class a sample is of.
        samples: images in each comparison.
        repeats: comparisons that FID and KID are averaged over.
        seed: of everything drawn; every generator is given the same draws.

    Raises:
        UsageError: there are too few samples or repeats.
        DataError: there are too few real images.
    """

    def __init__(
        self,
        dataset: Dataset,
        augmentation: AugmentationSettings,
        extractor: Extractor,
        classifier: LearnedClassifier,
        *,
        samples: int = SAMPLES,
        repeats: int = REPEATS,
        seed: int = 0,
    ) -> None:
        check_sizes(samples, repeats)
        if len(dataset) <= K:
            raise DataError(f"{dataset.name} has {len(dataset)} images; scores need at least {K + 1}: give more.")
        self.dataset, self.extractor, self.classifier = dataset, extractor, classifier
        self.samples, self.repeats, self.seed = samples, repeats, seed
        self._augmentation = augmentation
        self._kept: dict[int, Features] = {}

    def score(self, generator: Generator, *, report: Callable[[int, int], None] = lambda *_: None) -> Scores:
        """All figures.

        Args:
            generator: what to score.
            report: called with how many parts are done, and how many there are.

        Raises:
            GeneratorError: its images have another size than the data's, or it fails.
        """
        check_size(generator, self.dataset)
        images, intended = self._drawn(generator, 0)
        seen = self.extractor.features(images)
        fids, kids = self._distances(generator, seen, report)
        scores = Scores(
            extractor=self.extractor.identity,
            data=self.dataset.fingerprint,
            augmentation=self._augmentation,
            samples=self.samples,
            repeats=self.repeats,
            seed=self.seed,
            fid=Estimate.of(fids),
            kid=Estimate.of(kids),
            surroundings=surroundings(self._plain_features[: self.samples], seen),
            classes=class_figures(self.dataset, self.classifier, images, intended, classes=generator.classes),
            pixels=self._among_pixels.nearness(images),
            features=self._among_features.nearness(seen),
        )
        report(self.repeats + 1, self.repeats + 1)
        return scores

    def quick(self, generator: Generator) -> tuple[float, float]:
        """FID and KID of the first repeat alone, KID over fewer subsets: for a look in the middle of a training.

        Raises:
            GeneratorError: its images have another size than the data's, or it fails.
        """
        check_size(generator, self.dataset)
        features = self.extractor.features(self._drawn(generator, 0)[0])
        return self._compared(features, 0, subsets=QUICK_SUBSETS)

    def _distances(
        self, generator: Generator, first: Features, report: Callable[[int, int], None]
    ) -> tuple[list[float], list[float]]:
        """FID and KID of every repeat, given the features of the first one's samples."""
        fids, kids = list[float](), list[float]()
        for number in range(self.repeats):
            features = first if number == 0 else self.extractor.features(self._drawn(generator, number)[0])
            fid, kid = self._compared(features, number, subsets=SUBSETS)
            fids.append(fid)
            kids.append(kid)
            report(number + 1, self.repeats + 1)
        return fids, kids

    def _compared(self, features: Features, number: int, *, subsets: int) -> tuple[float, float]:
        """FID and KID of one repeat."""
        real = self._real(number)
        (mixed,) = np.random.SeedSequence((self.seed, 4, number)).generate_state(1)
        return frechet_distance(real, features), kernel_distance(real, features, seed=int(mixed), subsets=subsets)

    def _drawn(self, generator: Generator, number: int) -> tuple[ByteImages, NDArray[np.int64] | None]:
        images, _, classes = generator.sample(self.samples, np.random.default_rng((self.seed, 2, number)))
        return images, classes

    def _real(self, number: int) -> Features:
        """The features of one repeat's real images."""
        if number in self._kept:
            return self._kept[number]
        features = self.extractor.features(self._augmented(number))
        if features.size * self.repeats <= MOST_KEPT:
            self._kept[number] = features
        return features

    def _augmented(self, number: int) -> ByteImages:
        """One repeat's real images; rounded to bytes, as samples are."""
        rng = np.random.default_rng((self.seed, 3, number))
        pool = COPIES * len(self.dataset)
        rounds = -(-self.samples // pool)
        items = np.concatenate([rng.permutation(pool) for _ in range(rounds)])[: self.samples]
        augment = Augmenter(self._augmentation, torch.Generator().manual_seed(int(rng.integers(2**63))))
        made = np.empty((self.samples, *self.dataset.images.shape[1:]), dtype=np.uint8)
        for start in range(0, self.samples, _AT_ONCE):
            part = items[start : start + _AT_ONCE]
            rows, copies = part // COPIES, torch.from_numpy(part % COPIES)
            images = self.dataset.part("", rows).floats()
            made[start : start + len(part)] = to_bytes(augment(torch.from_numpy(images), copies).numpy())
        return made

    @cached_property
    def _plain_features(self) -> Features:
        """Of the data as it is, in random order; as many as there are samples, and more where they are cheap."""
        cheap = self.extractor is self.classifier
        count = max(self.samples, SAMPLES) if cheap else self.samples
        rows = np.random.default_rng((self.seed, 5)).permutation(len(self.dataset))[:count]
        return self.extractor.features(self.dataset.images[rows])

    @cached_property
    def _among_pixels(self) -> Among:
        return Among(self.dataset.images)

    @cached_property
    def _among_features(self) -> Among:
        return Among(self._plain_features)
