"""The description beside a generator that another tool made: `<file>.yaml`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError

from diffgan.errors import GeneratorError
from diffgan.generators.priors import Prior


class Sidecar(BaseModel):
    """What the sidecar of a foreign generator says.

    Attributes:
        latent: the number of genes.
        prior: `{name: normal}` or `{name: uniform, low: -1, high: 1}`.
        classes: a number: it takes (latent, label); absent: latents only.
        image: channels, height, width; what the file returns is reshaped to it.
        range: its values of black and white.
        rescale: `per-image` stretches each image to the full range, as some tools do before they classify.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    latent: PositiveInt
    prior: Prior
    classes: PositiveInt | None = None
    image: tuple[PositiveInt, PositiveInt, PositiveInt]
    range: tuple[float, float] = (0.0, 1.0)
    rescale: Literal["per-image"] | None = None


def read_sidecar(path: Path) -> Sidecar:
    """The description beside a foreign generator.

    Raises:
        GeneratorError: there is none, or it does not fit.
    """
    sidecar = path.with_name(path.name + ".yaml")
    if not sidecar.is_file():
        raise GeneratorError(
            f"{path} has no sidecar {sidecar.name} beside it: write one with latent, prior and image, such as "
            "'latent: 100', 'prior: {name: normal}', 'image: [1, 28, 28]'."
        )
    try:
        content = yaml.safe_load(sidecar.read_text(encoding="utf-8"))
        return Sidecar.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise GeneratorError(f"{sidecar} does not fit ({where}: {first['msg']}).") from error
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        raise GeneratorError(f"{sidecar} cannot be read ({error}): write KEY: VALUE lines.") from error


def has_generator_sidecar(path: Path) -> bool:
    """Whether a sidecar says that a file is a generator; cheap, and never an error."""
    sidecar = path.with_name(path.name + ".yaml") if path.name else path
    try:
        content = yaml.safe_load(sidecar.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return False
    return isinstance(content, dict) and "latent" in content
