"""Generators that other tools made: TorchScript, an exported program or ONNX, described by a sidecar `<file>.yaml`."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from diffgan.errors import GeneratorError, ModelError
from diffgan.generators.generator import Generator, Network
from diffgan.generators.sidecar import Sidecar, read_sidecar
from diffgan.generators.thinning import thinned
from diffgan.images import ByteImages, ImageSpec
from diffgan.models.onnx_files import external_files
from diffgan.precision import brisk

#: Images that a generator is tried with, and the grey levels that they may differ by on average in bfloat16.
_PROBED, _ROUNDING = 8, 1.0


def load_foreign(path: Path) -> Generator:
    """Opens a foreign generator, and tries it on a few latents.

    Raises:
        GeneratorError: there is no sidecar, it does not fit, or the file cannot be opened.
    """
    sidecar = read_sidecar(path)
    try:
        raw = _open(path)
    except ModelError as error:
        raise GeneratorError(str(error)) from error

    generator = Generator(
        source=str(path),
        name=path.name,
        latent=sidecar.latent,
        prior=sidecar.prior,
        classes=sidecar.classes,
        spec=ImageSpec(*sidecar.image),
        fingerprint=_fingerprint(path, sidecar),
        data=None,
        network=_scaling(raw, sidecar),
    )
    exact = _probe(generator)
    quick = replace(generator, network=_scaling(brisk(thinned(raw)), sidecar))
    return quick if _is_alike(quick, exact) else generator


def _fingerprint(path: Path, sidecar: Sidecar) -> str:
    """Of the file, of what it keeps elsewhere, and of what the sidecar says of it."""
    digest = hashlib.sha256(sidecar.model_dump_json().encode())
    for part in [path, *(external_files(path) if path.suffix.lower() == ".onnx" else [])]:
        with part.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    return digest.hexdigest()[:32]


def _open(path: Path) -> Callable[..., Tensor]:
    suffix = path.suffix.lower()
    if suffix in (".pt", ".ts"):
        from diffgan.models.torchscript import open_module

        quick: Callable[..., Tensor] = _quickened(open_module(path))
        return quick
    if suffix == ".pt2":
        from diffgan.models.exported import open_program

        return open_program(path)[0]
    if suffix == ".onnx":
        return _onnx(path)
    raise GeneratorError(f"{path} is no generator that diffgan reads: give TorchScript (.pt), .pt2 or .onnx.")


def _quickened(module: Any) -> Any:
    """With a pixel's channels side by side, which transposed convolutions on a processor are faster with."""
    try:
        return module.to(memory_format=torch.channels_last)
    except RuntimeError:  # weights of other dimensions have no such layout
        return module


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


def _scaling(raw: Callable[..., Tensor], sidecar: Sidecar) -> Network:
    def network(latents: Tensor, labels: Tensor | None) -> Tensor:
        made = raw(latents) if labels is None else raw(latents, labels)
        return _scaled(made.reshape(len(latents), *sidecar.image), sidecar)

    return network


def _is_alike(quick: Generator, exact: ByteImages) -> bool:
    """Whether it makes those images, too, but for rounding; a network may be none that can be rounded on the way."""
    try:
        made = quick.sample(len(exact), np.random.default_rng(0))[0]
    except Exception:  # noqa: BLE001 - whatever it is, the network as it came has no such trouble
        return False
    return bool(np.abs(made.astype(np.int16) - exact).mean() <= _ROUNDING)


def _probe(generator: Generator) -> ByteImages:
    """A few images."""
    try:
        return generator.sample(_PROBED, np.random.default_rng(0))[0]
    except GeneratorError:
        raise
    except Exception as error:
        reason = next(
            (line.strip() for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__
        )
        raise GeneratorError(
            f"{generator.name} fails on latents of its sidecar ({reason}): correct latent, classes or image."
        ) from error
