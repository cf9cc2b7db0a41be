"""What is known of a generator: `card.json` beside its weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from diffgan.errors import GeneratorError
from diffgan.generators.architecture import Architecture
from diffgan.generators.priors import Prior

#: Of the card's form; a card of a newer one is refused.
CARD_VERSION = 1


class DataCard(BaseModel):
    """The data that a generator was trained on.

    Attributes:
        name: how it was asked for.
        fingerprint: of images, labels and class names.
        images: how many there are.
        class_names: the names of its classes.
        held_out: rows that the training never saw, for calibration.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    fingerprint: str
    images: int
    class_names: tuple[str, ...]
    held_out: tuple[int, ...]


class Card(BaseModel):
    """A generator's card.

    Attributes:
        version: of the card's form.
        diffgan: the version that wrote it.
        architecture: what the networks are made from.
        prior: what latents are drawn from.
        data: what it was trained on.
        training: settings and figures of the training, as they were.
        scores: FID, KID and the like, with the extractor that each was made with.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: int = CARD_VERSION
    diffgan: str
    architecture: Architecture
    prior: Prior
    data: DataCard
    training: dict[str, Any]
    scores: dict[str, Any] = {}


def read_card(folder: Path) -> Card:
    """The card in a generator's folder.

    Raises:
        GeneratorError: it is missing, damaged, or of a newer form.
    """
    path = folder / "card.json"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise GeneratorError(
            f"{folder} holds no generator (there is no card.json in it): give a folder that gan train wrote."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise GeneratorError(f"{path} cannot be read ({error}): copy it again, or train again.") from error
    version = content.get("version") if isinstance(content, dict) else None
    if isinstance(version, int) and version > CARD_VERSION:
        raise GeneratorError(
            f"{path} has version {version}, and this diffgan reads up to {CARD_VERSION}: upgrade diffgan."
        )
    try:
        return Card.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "it"
        raise GeneratorError(
            f"{path} does not fit ({where}: {first['msg']}): copy it again, or train again."
        ) from error
