"""The generator artifact: a folder with `generator.safetensors`, `discriminator.safetensors` and `card.json`."""

from __future__ import annotations

import hashlib
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from diffgan.drafts import replacing
from diffgan.errors import GeneratorError
from diffgan.generators.architecture import Architecture
from diffgan.generators.card import Card, read_card
from diffgan.generators.networks import build_discriminator, build_generator

_GENERATOR, _DISCRIMINATOR, _CARD = "generator.safetensors", "discriminator.safetensors", "card.json"


def write_artifact(folder: Path, *, generator: nn.Module, discriminator: nn.Module, card: Card) -> None:
    """Writes an artifact; the card comes last, so that a folder with a card is whole.

    Raises:
        GeneratorError: the disk refuses; an artifact that was there before may be without its card then.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _CARD).unlink(missing_ok=True)
        for name, network in ((_GENERATOR, generator), (_DISCRIMINATOR, discriminator)):
            tensors = {key: value.detach().cpu().contiguous() for key, value in network.state_dict().items()}
            with replacing(folder / name) as draft:
                save_file(tensors, draft)
        with replacing(folder / _CARD) as draft:
            draft.write_text(card.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except (OSError, SafetensorError) as error:
        raise GeneratorError(f"The generator cannot be written to {folder} ({error}): see the disk.") from error


def read_generator(folder: Path) -> tuple[nn.Module, Card]:
    """The generator in a folder, ready to use, with its card.

    Raises:
        GeneratorError: the folder is none, or its weights do not fit its card.
    """
    card = read_card(folder)
    return _filled(build_generator(card.architecture), folder / _GENERATOR), card


def read_discriminator(folder: Path) -> tuple[nn.Module, Card]:
    """The discriminator in a folder, ready to use, with its card.

    Raises:
        GeneratorError: the folder is none, or its weights do not fit its card.
    """
    card = read_card(folder)
    return _filled(build_discriminator(card.architecture), folder / _DISCRIMINATOR), card


def has_discriminator(folder: Path) -> bool:
    """Whether the folder holds a discriminator at all."""
    return (folder / _DISCRIMINATOR).is_file()


def artifact_fingerprint(folder: Path) -> str:
    """Of the generator's weights.

    Raises:
        GeneratorError: they cannot be read.
    """
    try:
        with (folder / _GENERATOR).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:32]
    except OSError as error:
        raise GeneratorError(f"{folder / _GENERATOR} cannot be read ({error.strerror}): train again.") from error


def _filled(network: nn.Module, path: Path) -> nn.Module:
    if not path.is_file():
        raise GeneratorError(f"{path} is missing beside its card: copy it, or train again.")
    try:
        network.load_state_dict(load_file(path))
    except (OSError, SafetensorError) as error:
        raise GeneratorError(f"{path} is damaged ({error}): copy it again, or train again.") from error
    except RuntimeError as error:
        first = " ".join(str(error).splitlines()[:2])
        raise GeneratorError(f"{path} does not fit the card beside it ({first}): copy both together.") from error
    return network.eval()


def seeded_networks(architecture: Architecture, seed: int) -> tuple[nn.Module, nn.Module]:
    """A generator and a discriminator with weights from a seed; torch's own random state is put back."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build_generator(architecture), build_discriminator(architecture)
