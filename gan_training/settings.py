"""What a training is made from: the `gan` and `augmentation` sections of a configuration."""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, PositiveInt, ValidationError

from diffgan import configs
from diffgan.errors import UsageError
from diffgan.gan_training.augmentation import AugmentationSettings
from diffgan.generators.priors import Prior, UniformPrior
from diffgan.system import has_fast_bfloat16


class TrainingSettings(BaseModel):
    """How a GAN is trained.

    Attributes:
        kind: `dcgan` or `mlp`, see `Architecture`.
        latent, width, discriminator_width: see `Architecture`.
        patch: see `Architecture`.
        conditional: on the class, where the data has more than one.
        prior: of the latents, in training and in a search.
        steps: updates of the generator; the learning rates fall to zero over the second half of them.
        batch: images per update.
        generator_rate, discriminator_rate: Adam's learning rates.
        beta1, beta2: Adam's decay rates.
        precision: of the networks' arithmetic while training; `auto` takes bfloat16 where the processor has it.
        average: decay of the running average of the generator's weights, which is what is kept.
        augmentation: how the data is augmented.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    kind: Literal["dcgan", "mlp"] = "dcgan"
    latent: PositiveInt = 100
    width: PositiveInt = 16
    discriminator_width: PositiveInt = 32
    patch: Literal[1, 2, 4] = 1
    conditional: bool = True
    prior: Prior = UniformPrior()
    steps: PositiveInt = 20_000
    batch: int = Field(32, ge=2)
    generator_rate: PositiveFloat = 1e-3
    discriminator_rate: PositiveFloat = 2e-3
    beta1: float = Field(0.0, ge=0, lt=1)
    beta2: float = Field(0.99, ge=0, lt=1)
    average: float = Field(0.999, ge=0, lt=1)
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    augmentation: AugmentationSettings = AugmentationSettings()

    def precision_on(self, device: torch.device) -> Literal["float32", "bfloat16"]:
        """What `precision` comes to on a device."""
        if self.precision != "auto":
            return self.precision
        fast = torch.cuda.is_bf16_supported() if device.type == "cuda" else device.type == "cpu" and has_fast_bfloat16()
        return "bfloat16" if fast else "float32"


def read_settings(config: str | None, data: str) -> TrainingSettings:
    """The settings of a configuration (a name or a YAML file) over the data's own, over the defaults.

    Raises:
        UsageError: there is no such configuration, or a key or a value does not fit.
    """
    name = data.partition(":")[0]
    own = configs.read(name) if name in configs.names() else {}
    chosen = {} if config is None else configs.read_named(config)
    origin = config or name
    gan = configs.section(own, "gan", name) | configs.section(chosen, "gan", origin)
    augmentation = configs.section(own, "augmentation", name) | configs.section(chosen, "augmentation", origin)
    extra = {"augmentation": augmentation} if augmentation else {}
    try:
        return TrainingSettings.model_validate(gan | extra)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{origin}: {where} does not fit: {first['msg'].removeprefix('Value error, ')}.") from error
