"""Signs that a training is hopeless, so that it stops and says why instead of using up its budget."""

from __future__ import annotations

import math

from torch import Tensor

from diffgan.errors import GeneratorError
from diffgan.gan_training.coverage import ClassCoverage
from diffgan.gan_training.trainer import Losses

#: Updates over which the discriminator has to be right about everything before that is an alarm.
SATURATED_FOR = 1000
SATURATED_BELOW = 0.01

#: Samples have to vary, pixel by pixel, at least by this share of what real images vary by.
LEAST_VARIATION = 0.2
#: More than this share of the classes missing among samples, where each could be there many times, is a collapse.
MOST_MISSING = 0.5
GRACE = 1000


class HopelessError(GeneratorError):
    """A training that diverged or collapsed: lower the learning rates, or train with other settings."""


class Alarms:
    """Watches the losses of every update, and samples now and then.

    Args:
        real: real images, to compare the variation and the classes of samples with.
        labels: of those.
    """

    def __init__(self, real: Tensor, labels: Tensor) -> None:
        self._real_variation = _variation(real)
        self._coverage = ClassCoverage(real, labels)
        self._saturated = 0

    def on_losses(self, losses: Losses, step: int) -> None:
        """Looks at one update.

        Raises:
            HopelessError: a loss is not finite, or the discriminator has long been right about everything.
        """
        if not (math.isfinite(losses.discriminator) and math.isfinite(losses.generator)):
            raise HopelessError(
                f"The training diverged at update {step}: a loss is not a number. Lower the learning rates."
            )
        self._saturated = self._saturated + 1 if losses.discriminator < SATURATED_BELOW else 0
        if self._saturated >= SATURATED_FOR:
            raise HopelessError(
                f"The discriminator has told every image apart for {SATURATED_FOR} updates (until {step}), so the "
                "generator learns nothing: lower discriminator_rate or discriminator_width."
            )

    def on_samples(self, samples: Tensor, step: int) -> None:
        """Looks at samples of different latents.

        Raises:
            HopelessError: they are all alike, or most classes are not among them.
        """
        if step < GRACE:
            return
        share = _variation(samples) / max(self._real_variation, 1e-12)
        if share < LEAST_VARIATION:
            raise HopelessError(
                f"The samples collapsed at update {step}: they vary by {share:.0%} of what real images vary by "
                f"(expected at least {LEAST_VARIATION:.0%}). Lower the learning rates, or train with another seed."
            )
        missing, expected = self._coverage.missing(samples), len(self._coverage.expected)
        if len(missing) > MOST_MISSING * expected:
            raise HopelessError(
                f"The samples collapsed at update {step}: {len(missing)} of {expected} classes are not among "
                f"{len(samples)} of them. Lower the learning rates, or train with another seed."
            )


def _variation(images: Tensor) -> float:
    return float(images.flatten(1).std(dim=0).mean())
