"""What an image says about a new model, once the old and the new one have answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.models.classifier import Classifier
from diffgan.search.divergence import divergence_named
from diffgan.search.evaluation import Evaluator

Integers = NDArray[np.int64]

#: In place of a class: nobody has said what the image shows; somebody has said that it shows none.
UNLABELLED, INVALID = -1, -2

_CHUNK = 1000
#: Outputs of both models that are nearer than this differ by how a runtime computes, and by nothing else.
_SAME = 1e-5


class Outcome(StrEnum):
    """What an image says; the values are the names in `summary.json`."""

    REGRESSION = "regressions"
    FIX = "fixes"
    BOTH_WRONG = "both_wrong"
    UNLABELLED = "unlabelled"
    INVALID = "invalid"
    AGREED = "agreed"


#: As people read them.
TITLES: Mapping[Outcome, str] = {
    Outcome.REGRESSION: "regressions",
    Outcome.FIX: "fixes",
    Outcome.BOTH_WRONG: "both wrong",
    Outcome.UNLABELLED: "unlabelled",
    Outcome.INVALID: "no class",
    Outcome.AGREED: "agreed",
}


@dataclass(frozen=True, eq=False)
class Answers:
    """Images by id, what they show, and what both models say: four arrays of one length.

    Attributes:
        ids: of the images.
        labels: the class, `UNLABELLED` or `INVALID`.
        old: the label of the old model.
        new: the label of the new one.
    """

    ids: Integers
    labels: Integers
    old: Integers
    new: Integers

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self, outcome: Outcome) -> NDArray[np.intp]:
        """The rows with this outcome."""
        return np.flatnonzero(self._masks()[outcome])

    def counts(self) -> dict[Outcome, int]:
        """How many rows have each outcome; every row has one."""
        return {outcome: int(mask.sum()) for outcome, mask in self._masks().items()}

    def _masks(self) -> dict[Outcome, NDArray[np.bool_]]:
        known = self.labels >= 0
        right_old, right_new = self.old == self.labels, self.new == self.labels
        agreed = self.old == self.new
        wrong = known & ~right_old & ~right_new
        return {
            Outcome.REGRESSION: known & right_old & ~right_new,
            Outcome.FIX: known & ~right_old & right_new,
            Outcome.BOTH_WRONG: wrong,
            Outcome.UNLABELLED: (self.labels == UNLABELLED) & ~agreed,
            Outcome.INVALID: (self.labels == INVALID) & ~agreed,
            Outcome.AGREED: agreed & ~wrong,
        }


def joined(parts: list[Answers]) -> Answers:
    """The rows of all."""
    none = np.empty(0, dtype=np.int64)
    return Answers(
        *(np.concatenate([none, *(getattr(part, name) for part in parts)]) for name in ("ids", "labels", "old", "new"))
    )


def ask(models: tuple[Classifier, Classifier], ids: Integers, images: ByteImages, labels: Integers) -> Answers:
    """Shows images to both models, as a search does: a disagreement that hangs by a hair is asked again, alone.

    Raises:
        ModelError: a model failed.
    """
    evaluator = Evaluator(*models, divergence_named("euclidean"))
    old, new = np.empty(len(images), dtype=np.int64), np.empty(len(images), dtype=np.int64)
    for start in range(0, len(images), _CHUNK):
        said = evaluator.evaluate(images[start : start + _CHUNK])
        part = slice(start, start + len(said))
        old[part], label = said.outputs_a.argmax(axis=1), said.outputs_b.argmax(axis=1)
        # What hangs by a hair is no disagreement of two models that say the same; others have to stand by their labels.
        same = np.abs(said.outputs_a - said.outputs_b).max(axis=1) <= _SAME
        new[part] = np.where(same & ~said.triggers, old[part], label)
    return Answers(ids, labels, old, new)
