"""What a tuning minimises: FID and KID in one number, since a trial can be pruned by one objective only."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from diffgan.datasets import Dataset
from diffgan.errors import GeneratorError
from diffgan.gan_training.augmentation import AugmentationSettings
from diffgan.gan_training.scores import Scorer, learned_classifier
from diffgan.generators.generator import Generator
from diffgan.generators.priors import UniformPrior

#: Samples of a look in the middle of a trial, and of its final score.
LOOK, FULL = 1000, 5000

#: KID is unbiased, so that of two close sets may be nothing or less: it is no unit below this.
LEAST_KID = 1e-4
LEAST_FID = 1e-3


@dataclass(frozen=True)
class Measured:
    """One generator's scores.

    Attributes:
        value: what is minimised; 1 is as far from the augmented data as the plain images are.
        fid, kid: as they are.
    """

    value: float
    fid: float
    kid: float


class Yardstick:
    """Scores by so many samples, in units of the distance between the plain images and the augmented data.

    Args:
        scorer: what scores.
        plain: the generator that gives the plain images.
    """

    def __init__(self, scorer: Scorer, plain: Generator) -> None:
        self._scorer = scorer
        start = perf_counter()
        fid, kid = scorer.quick(plain)
        self.unit_fid, self.unit_kid = max(fid, LEAST_FID), max(kid, LEAST_KID)
        #: What the latest score took. (This first one looked at the real images, too, in place of a generator's work.)
        self.seconds = perf_counter() - start

    def measure(self, generator: Generator) -> Measured:
        """Half the sum of FID and KID, each in its unit.

        Raises:
            GeneratorError: the samples cannot be scored.
        """
        start = perf_counter()
        try:
            fid, kid = self._scorer.quick(generator)
        except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
            raise GeneratorError(f"The samples cannot be scored ({error}).") from error
        self.seconds = perf_counter() - start
        # An unbiased estimate below nothing says that there is no difference to be seen, not a better one.
        value = (fid / self.unit_fid + max(kid, 0.0) / self.unit_kid) / 2
        if not math.isfinite(value):
            raise GeneratorError(f"The samples cannot be scored: FID {fid}, KID {kid}.")
        return Measured(value, fid, kid)


class Objective:
    """Everything that scores the generators of one study: a quick look, and a thorough one.

    Args:
        dataset: the real images.
        augmentation: how they are augmented.
        seed: of everything drawn.
        report: called while the classifier is trained whose features are compared.
    """

    def __init__(
        self,
        dataset: Dataset,
        augmentation: AugmentationSettings,
        *,
        seed: int,
        report: Callable[[int, int], None] = lambda *_: None,
    ) -> None:
        classifier = learned_classifier(dataset, augmentation, report=report)
        self.extractor = classifier.identity
        plain = plain_images(dataset)
        self.look, self.full = (
            Yardstick(
                Scorer(dataset, augmentation, classifier, classifier, samples=samples, repeats=1, seed=seed), plain
            )
            for samples in (LOOK, FULL)
        )


def plain_images(dataset: Dataset) -> Generator:
    """The images themselves as a generator of one gene: each is as likely as any other."""
    images = torch.from_numpy(dataset.floats())

    def network(latents: Tensor, labels: Tensor | None) -> Tensor:
        del labels
        rows = ((latents[:, 0].double() + 1) / 2 * len(images)).long().clamp(0, len(images) - 1)
        return images[rows]

    return Generator(
        name="the images themselves",
        latent=1,
        prior=UniformPrior(),
        classes=None,
        spec=dataset.spec,
        fingerprint="",
        data=dataset.fingerprint,
        network=network,
    )
