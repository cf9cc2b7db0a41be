"""What is known of a selector: `card.json` beside its forest."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from diffgan.errors import ModelError
from diffgan.images import ImageSpec
from diffgan.selection.examples import Counts
from diffgan.selection.features import FeatureFacts, ShapeFacts
from diffgan.selection.nearness import Limits
from diffgan.selection.pairs import PairFacts
from diffgan.selection.scores import ChoiceScores

#: Of the card's form; a card of a newer one is refused.
CARD_VERSION = 1
FILE, FOREST_FILE, SEEN_FILE = "card.json", "forest.skops", "seen.npz"

_CONFIG = ConfigDict(frozen=True, extra="forbid")


class DataFacts(BaseModel):
    """The labelled data that the runs were on.

    Attributes:
        name: how it was asked for.
        fingerprint: of images, labels and class names.
        images: how many there are.
        channels, height, width: of each.
        class_names: of its classes.
        only_a: images on which A alone is right.
        only_b: images on which B alone is.
        learned: the identity of the classifier of its classes, which lies in the folder.
        network: its shape.
    """

    model_config = _CONFIG

    name: str
    fingerprint: str
    images: int
    channels: int = Field(ge=1, le=3)
    height: int = Field(ge=1)
    width: int = Field(ge=1)
    class_names: tuple[str, ...]
    only_a: int = Field(ge=0)
    only_b: int = Field(ge=0)
    learned: str
    network: ShapeFacts

    @property
    def spec(self) -> ImageSpec:
        """The size of an image."""
        return ImageSpec(self.channels, self.height, self.width)


class ForestFacts(BaseModel):
    """The forest.

    Attributes:
        fingerprint: of its trees.
        trees: how many there are.
        features: how many numbers of an image it takes.
        scikit_learn: the version that grew it.
    """

    model_config = _CONFIG

    fingerprint: str
    trees: int
    features: int = Field(ge=1)
    scikit_learn: str


class HeldOut(BaseModel):
    """A test on triggers of other runs.

    Attributes:
        runs: their names.
        counts: what became of their labelled triggers.
        examples: those on which exactly one model is right.
        far: those of them that are far from every image that the training saw; only these are scored.
        scores: of the model that is more probably right; None where there are none.
        in_use: the same images, chosen as `Selector.predict` chooses.
    """

    model_config = _CONFIG

    runs: tuple[str, ...]
    counts: Counts
    examples: int
    far: int
    scores: ChoiceScores | None
    in_use: ChoiceScores | None


class CrossValidation(BaseModel):
    """A test on the training's own triggers, in parts that hold no near copies of one another.

    Attributes:
        parts: how many.
        groups: near copies that stay together.
        largest: the examples in the largest group.
        scores: over all parts; None where there are too few groups.
    """

    model_config = _CONFIG

    parts: int
    groups: int
    largest: int
    scores: ChoiceScores | None


class Card(BaseModel):
    """A selector's card.

    Attributes:
        version: of the card's form.
        diffgan: the version that wrote it.
        pair: the two models.
        data: that the runs were on.
        runs: their names.
        seed: of the draw, the networks and the forest.
        counts: what became of the labelled triggers.
        unlabelled: triggers without a part in the forest, from which mimic learned what the models answer.
        features: what the forest sees.
        forest: see there.
        limits: distances up to which two images are near.
        threshold: B is chosen where its probability exceeds it.
        queries: what A and B were asked for the training.
        cross_validation: see there; None where it was not asked for.
        held_out: see there; None without test runs.
    """

    model_config = _CONFIG

    version: int = CARD_VERSION
    diffgan: str
    pair: PairFacts
    data: DataFacts
    runs: tuple[str, ...]
    seed: int
    counts: Counts
    unlabelled: int
    features: FeatureFacts
    forest: ForestFacts
    limits: Limits
    threshold: float = Field(ge=0, le=1, allow_inf_nan=False)
    queries: dict[str, int]
    cross_validation: CrossValidation | None = None
    held_out: HeldOut | None = None


def write_card(folder: Path, card: Card) -> None:
    """As JSON."""
    content: dict[str, Any] = card.model_dump(mode="json")
    (folder / FILE).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def read_card(folder: Path) -> Card:
    """The card in a selector's folder.

    Raises:
        ModelError: it is missing, damaged, of something else, or of a newer form.
    """
    path = folder / FILE
    if not (folder / FOREST_FILE).is_file():
        given = "holds no selector" if folder.is_dir() else "is no folder"
        raise ModelError(f"{folder} {given} (no {FOREST_FILE}): give a folder that `diffgan select train` wrote.")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ModelError(f"{path} cannot be read ({error}): copy the folder again, or train again.") from error
    version = content.get("version") if isinstance(content, dict) else None
    if isinstance(version, int) and version > CARD_VERSION:
        raise ModelError(f"{path} is of form {version}, and this diffgan reads up to {CARD_VERSION}: update diffgan.")
    try:
        return Card.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"]) or "the whole"
        raise ModelError(
            f"{path} is damaged ({place}: {first['msg']}): copy the folder again, or train again."
        ) from error
