"""Generators that other tools made: TorchScript, an exported program or ONNX, described by a sidecar `<file>.yaml`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import torch
import yaml
from pydantic import BaseModel, ConfigDict, PositiveInt, ValidationError
from torch import Tensor

from diffgan.errors import GeneratorError, ModelError
from diffgan.generators.generator import Generator
from diffgan.generators.priors import Prior
from diffgan.images import ImageSpec


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


def load_foreign(path: Path) -> Generator:
    """Opens a foreign generator, and tries it on two latents.

    Raises:
        GeneratorError: there is no sidecar, it does not fit, or the file cannot be opened.
    """
    sidecar = _read_sidecar(path)
    try:
        raw = _open(path)
    except ModelError as error:
        raise GeneratorError(str(error)) from error

    def network(latents: Tensor, labels: Tensor | None) -> Tensor:
        made = raw(latents) if labels is None else raw(latents, labels)
        return _scaled(made.reshape(len(latents), *sidecar.image), sidecar)

    with path.open("rb") as file:
        fingerprint = hashlib.file_digest(file, "sha256").hexdigest()[:32]
    generator = Generator(
        name=path.name,
        latent=sidecar.latent,
        prior=sidecar.prior,
        classes=sidecar.classes,
        spec=ImageSpec(*sidecar.image),
        fingerprint=fingerprint,
        data=None,
        network=network,
    )
    _probe(generator)
    return generator


def _read_sidecar(path: Path) -> Sidecar:
    sidecar = path.with_name(path.name + ".yaml")
    if not sidecar.is_file():
        raise GeneratorError(
            f"{path} has no sidecar {sidecar.name} beside it: write one with latent, prior and image, such as "
            "'latent: 100', 'prior: {name: normal}', 'image: [1, 28, 28]'."
        )
    try:
        content = yaml.safe_load(sidecar.read_text(encoding="utf-8"))
        return Sidecar.model_validate(content)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise GeneratorError(f"{sidecar} cannot be read ({error}): write KEY: VALUE lines.") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise GeneratorError(f"{sidecar} does not fit ({where}: {first['msg']}).") from error


def _open(path: Path) -> Callable[..., Tensor]:
    suffix = path.suffix.lower()
    if suffix in (".pt", ".ts"):
        from diffgan.models.torchscript import open_module

        return open_module(path)
    if suffix == ".pt2":
        from diffgan.models.exported import open_program

        return open_program(path)[0]
    if suffix == ".onnx":
        return _onnx(path)
    raise GeneratorError(f"{path} is no generator that diffgan reads: give TorchScript (.pt), .pt2 or .onnx.")


def _onnx(path: Path) -> Callable[..., Tensor]:
    from diffgan.models.onnx import open_session
    from diffgan.models.onnx_files import external_files
    from diffgan.models.options import ModelOptions

    external_files(path)
    session: Any = open_session(path, ModelOptions())
    names = [entry.name for entry in session.get_inputs()]

    def run(*inputs: Tensor) -> Tensor:
        feed = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
        return torch.from_numpy(session.run(None, feed)[0])

    return run


def _scaled(images: Tensor, sidecar: Sidecar) -> Tensor:
    if sidecar.rescale == "per-image":
        least, most = images.amin(dim=(1, 2, 3), keepdim=True), images.amax(dim=(1, 2, 3), keepdim=True)
        return (images - least) / (most - least).clamp_min(1e-12)
    low, high = sidecar.range
    return images if (low, high) == (0.0, 1.0) else (images - low) / (high - low)


def _probe(generator: Generator) -> None:
    import numpy as np

    try:
        generator.sample(2, np.random.default_rng(0))
    except GeneratorError:
        raise
    except Exception as error:
        reason = next(
            (line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__
        )
        raise GeneratorError(
            f"{generator.name} fails on latents of its sidecar ({reason}): correct latent, classes or image."
        ) from error
