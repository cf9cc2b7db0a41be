"""Scores beside the generator that they are of: in its card."""

from __future__ import annotations

from pathlib import Path

from diffgan.drafts import replacing
from diffgan.errors import GeneratorError
from diffgan.gan_training.score_results import Scores
from diffgan.generators.card import read_card


def keep_in_card(folder: Path, scores: Scores) -> None:
    """Writes scores into the card of an artifact, under the extractor's name; the former ones of that name go.

    Raises:
        GeneratorError: the card cannot be read, or not be written; it stands as it was then.
    """
    card = read_card(folder)
    name = scores.extractor.partition("-")[0]
    card = card.model_copy(update={"scores": {**card.scores, name: scores.as_json()}})
    try:
        with replacing(folder / "card.json") as draft:
            draft.write_text(card.model_dump_json(indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        reason = error.strerror or error
        raise GeneratorError(
            f"The scores cannot be kept in {folder / 'card.json'} ({reason}): see the disk."
        ) from error
