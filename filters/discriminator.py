"""The discriminator's verdict: does a trigger look as real as most of the real images that the GAN never saw?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffgan.datasets import Dataset
from diffgan.errors import GeneratorError, UsageError
from diffgan.filters.protocol import Candidates, Scores
from diffgan.generators.discriminator import Discriminator
from diffgan.stats import quantile

#: Of the real images held out, the share that passes.
KEEP = 0.95


@dataclass(frozen=True, eq=False)
class DiscriminatorFilter:
    """Passes what a discriminator finds about as real as the images that its GAN held out.

    Attributes:
        discriminator: gives the scores.
        threshold: triggers with a score of at least this pass.
        with_classes: whether a trigger's class is told; if not, the greatest score over all classes counts.
    """

    discriminator: Discriminator
    threshold: float
    with_classes: bool
    name: str = "discriminator"

    @classmethod
    def calibrated(
        cls, discriminator: Discriminator, dataset: Dataset, *, keep: float = KEEP, with_classes: bool = True
    ) -> DiscriminatorFilter:
        """A filter that lets the share `keep` of the real images pass that the GAN's training held out.

        Args:
            discriminator: of any GAN on this data.
            dataset: what that GAN was trained on.
            keep: a share, above 0 and up to 1.
            with_classes: False where the triggers have no classes, or ones of another meaning.

        Raises:
            UsageError: the share does not fit.
            GeneratorError: the GAN was trained on other data.
        """
        if not 0 < keep <= 1:
            raise UsageError(f"The share of real images to keep is {keep:g}; expected above 0 and up to 1, as in 0.95.")
        with_classes = with_classes and discriminator.classes is not None
        real = _held_out(discriminator, dataset)
        scores = discriminator.score(real.images, real.labels if with_classes else None)
        return cls(discriminator, quantile(scores, 1 - keep), with_classes)

    @property
    def identity(self) -> str:
        """The weights, and whether classes are told."""
        return f"discriminator-{self.discriminator.fingerprint}-{'classes' if self.with_classes else 'greatest'}"

    def scores(self, candidates: Candidates) -> Scores:
        """The discriminator's scores; a trigger without a class gets its greatest."""
        return self.discriminator.score(candidates.images, candidates.classes if self.with_classes else None)

    def reason(self, score: float) -> str:
        """In words, why a trigger with this score does not pass."""
        return f"looks less real ({score:.3g}) than the images held out mostly do (from {self.threshold:.3g})"


def _held_out(discriminator: Discriminator, dataset: Dataset) -> Dataset:
    data = discriminator.data
    if data.fingerprint != dataset.fingerprint:
        raise GeneratorError(
            f"The discriminator of {discriminator.name} was trained on {data.name} ({data.images:,} images, "
            f"fingerprint {data.fingerprint[:8]}), not on {dataset.name} ({len(dataset):,} images, fingerprint "
            f"{dataset.fingerprint[:8]}): give one that was trained on this data."
        )
    rows = np.array(data.held_out, dtype=np.int64)
    if not len(rows) or rows.min() < 0 or rows.max() >= len(dataset):
        raise GeneratorError(
            f"The card of {discriminator.name} holds out no images of {dataset.name} to calibrate on: train again."
        )
    return dataset.part(dataset.name, rows)
