"""What tuning may change about a training, and how far."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from diffgan.gan_training.settings import TrainingSettings

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution

#: The share of the longest training that a trial may take: epochs, in a form that fits a time budget, too.
LENGTH = "length"
SHORTEST = 0.5

#: The settings that are tuned; all others stay as they are configured.
TUNED = ("generator_rate", "discriminator_rate", "beta1", "batch", "width", "discriminator_width")

_RATES = (2.5e-4, 4e-3)
_BETA1 = (0.0, 0.6)
_BATCH = (16, 128)


def search_space(base: TrainingSettings) -> dict[str, BaseDistribution]:
    """The range of each value; it always holds the configured one.

    Widths go from half to twice the configured ones, as a wide generator costs each search that uses it.
    """
    from optuna.distributions import FloatDistribution, IntDistribution

    def around(width: int) -> IntDistribution:
        return IntDistribution(max(1, width // 2), max(2, 2 * width))

    def rate(configured: float) -> FloatDistribution:
        return FloatDistribution(min(_RATES[0], configured), max(_RATES[1], configured), log=True)

    return {
        "generator_rate": rate(base.generator_rate),
        "discriminator_rate": rate(base.discriminator_rate),
        "beta1": FloatDistribution(_BETA1[0], max(_BETA1[1], base.beta1)),
        "batch": IntDistribution(min(_BATCH[0], base.batch), max(_BATCH[1], base.batch), log=True),
        "width": around(base.width),
        "discriminator_width": around(base.discriminator_width),
        LENGTH: FloatDistribution(SHORTEST, 1.0),
    }


def configured(base: TrainingSettings) -> dict[str, Any]:
    """The point of the search space that is the configuration itself: what the first trial tries."""
    return {name: getattr(base, name) for name in TUNED} | {LENGTH: 1.0}


def settings_at(point: Mapping[str, Any], base: TrainingSettings) -> TrainingSettings:
    """The settings of a point; the number of updates stays the configured one."""
    return TrainingSettings.model_validate(base.model_dump() | {name: point[name] for name in TUNED})
