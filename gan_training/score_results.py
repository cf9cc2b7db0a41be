"""What `gan score` finds: the figures, as they are printed, kept in a card and read by a tuning."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from diffgan.gan_training.augmentation import AugmentationSettings
from diffgan.gan_training.neighbours import Surroundings


class Estimate(BaseModel):
    """A mean over repeats, and the 95 % interval about it; no interval from a single repeat."""

    model_config = ConfigDict(frozen=True)

    mean: float
    low: float | None
    high: float | None

    @classmethod
    def of(cls, values: list[float]) -> Estimate:
        """By Student's t, since repeats are few.

        Example:
            >>> round(Estimate.of([1.0, 2.0, 3.0]).high, 3)
            4.484
        """
        from scipy.special import stdtrit

        mean, count = float(np.mean(values)), len(values)
        if count < 2:
            return cls(mean=mean, low=None, high=None)
        half = float(stdtrit(count - 1, 0.975) * np.std(values, ddof=1) / np.sqrt(count))
        return cls(mean=mean, low=mean - half, high=mean + half)


class ClassFigures(BaseModel):
    """Which classes the learned classifier sees in the samples.

    Attributes:
        shares: of the samples, by class name.
        smallest, largest: of those shares.
        intended: share of samples that are seen as the class that was asked for; None: none was, or its classes
            are not the data's.
        intended_by_class: the same, by class name; None where no sample of it was asked for.
        classifier: share of the data's own images that the classifier gets right; None: not known.
    """

    model_config = ConfigDict(frozen=True)

    shares: dict[str, float]
    smallest: float
    largest: float
    intended: float | None
    intended_by_class: dict[str, float | None] | None
    classifier: float | None


class Nearness(BaseModel):
    """Whether samples are copies: their cosine distances to the nearest real image, beside those among real images.

    Attributes:
        samples: the median over samples.
        real: the median over real images, to the nearest other.
        closer: share of samples that are nearer than 99 % of the real images are.
    """

    model_config = ConfigDict(frozen=True)

    samples: float
    real: float
    closer: float


class Scores(BaseModel):
    """All figures of one generator on some data, by one extractor.

    Attributes:
        extractor: its identity; FID, KID and whatever is on features compare under the same one only.
        data: the fingerprint of the real images.
        augmentation: of the real images that FID and KID are against; under another, they do not compare.
        samples: images in each comparison.
        repeats: comparisons that FID and KID are averaged over.
        seed: of latents, choices and parameters of the augmentation.
        fid, kid: against the augmented data; lower is better.
        surroundings: precision, recall, density and coverage, against the data as it is.
        classes: None where the data has a single class.
        pixels: nearness to the data as it is.
        features: the same on features, to at most 10,000 of its images, or as many as there are samples.
    """

    model_config = ConfigDict(frozen=True)

    extractor: str
    data: str
    augmentation: AugmentationSettings
    samples: int
    repeats: int
    seed: int
    fid: Estimate
    kid: Estimate
    surroundings: Surroundings
    classes: ClassFigures | None
    pixels: Nearness
    features: Nearness

    def as_json(self) -> dict[str, Any]:
        """For a card, or for machines to read."""
        return self.model_dump(mode="json")
