"""Shows images to both models: outputs, divergence, and which of them trigger for certain."""

from __future__ import annotations

from dataclasses import dataclass, fields
from time import monotonic
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages, FloatImages, image_ids, to_floats
from diffgan.models.classifier import Classifier
from diffgan.search.divergence import Divergence

#: Runtimes are not bitwise stable across batch sizes. Where a model's top two probabilities are this near, a
#: disagreement is confirmed alone before it counts; where they still are as near as rounding, it does not count.
NEAR, TIED = 1e-4, 1e-6

_PREFIX, _NEW, _IDS = "begun/", "is_new", "ids"


@dataclass(frozen=True, eq=False)
class Evaluated:
    """N images as both models see them.

    Attributes:
        outputs_a: N x the shape of the task.
        outputs_b: as those of A.
        divergence: how far they are apart (N,).
        triggers: whether that is a disagreement (N,).
    """

    outputs_a: NDArray[np.float32]
    outputs_b: NDArray[np.float32]
    divergence: NDArray[np.float64]
    triggers: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.triggers)


def joined(first: Evaluated, second: Evaluated) -> Evaluated:
    """The rows of both."""
    columns = {
        field.name: np.concatenate([getattr(first, field.name), getattr(second, field.name)])
        for field in fields(Evaluated)
    }
    return Evaluated(**columns)


@dataclass(frozen=True, eq=False)
class Begun:
    """The first answers to a batch whose rest is not asked yet.

    Attributes:
        said: by both models.
        is_new: which of them are triggers that the archive did not have.
        ids: of the images that were answered.
    """

    said: Evaluated
    is_new: NDArray[np.bool_]
    ids: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.said)

    def with_more(self, more: Begun) -> Begun:
        """These and the following ones."""
        return Begun(
            joined(self.said, more.said),
            np.concatenate([self.is_new, more.is_new]),
            np.concatenate([self.ids, more.ids]),
        )

    def begins(self, images: ByteImages) -> bool:
        """Whether these are the answers to the first of those images."""
        return np.array_equal(self.ids, image_ids(images[: len(self)]))

    def to_state(self) -> dict[str, NDArray[Any]]:
        """As arrays for a checkpoint."""
        columns = {_PREFIX + field.name: getattr(self.said, field.name) for field in fields(Evaluated)}
        return {**columns, _PREFIX + _NEW: self.is_new, _PREFIX + _IDS: self.ids}

    @classmethod
    def taken_from(cls, arrays: dict[str, NDArray[Any]]) -> Self | None:
        """What `to_state` gave, taken out of the arrays of a checkpoint; None where it is not among them."""
        ours = {name.removeprefix(_PREFIX): arrays.pop(name) for name in list(arrays) if name.startswith(_PREFIX)}
        if _IDS not in ours:  # a former version's: it is asked again
            return None
        is_new, ids = ours.pop(_NEW), ours.pop(_IDS)
        return cls(Evaluated(**ours), is_new, ids)


class Evaluator:
    """The pair of models, asked with images as bytes.

    Args:
        model_a: the first.
        model_b: the second.
        divergence: says how far their outputs are apart.
    """

    def __init__(self, model_a: Classifier, model_b: Classifier, divergence: Divergence) -> None:
        self.model_a, self.model_b, self.divergence = model_a, model_b, divergence

    @property
    def queries(self) -> tuple[int, int]:
        """Images that each model has classified so far."""
        return self.model_a.queries, self.model_b.queries

    @property
    def remote(self) -> bool:
        """Whether calls of a model go elsewhere, and may cost money."""
        return self.model_a.remote or self.model_b.remote

    def evaluate(
        self, images: ByteImages, *, expected: NDArray[np.int64] | None = None, deadline: float | None = None
    ) -> Evaluated:
        """Asks both; a disagreement that hangs by a hair is asked again, alone.

        Args:
            images: uint8, N x H x W x C.
            expected: the class that each image was made for, which guides a divergence that asks, and is no label.
            deadline: seconds left for all of it, which remote models heed.

        Raises:
            ModelError: a model failed.
        """
        floats = to_floats(images)
        end = None if deadline is None else monotonic() + deadline

        def asked(model: Classifier, shown: FloatImages) -> NDArray[np.float32]:
            return model.predict(shown, timeout=None if end is None else end - monotonic())

        a, b = asked(self.model_a, floats), asked(self.model_b, floats)
        said = self.divergence(a, b, expected)
        amount, triggers = said.amount.copy(), said.triggers.copy()
        if self.divergence.task == "classification":
            rows = np.flatnonzero(triggers)
            doubtful = rows[np.minimum(margins(a[rows]), margins(b[rows])) < NEAR]
            if len(doubtful):
                a, b = a.copy(), b.copy()
            for row in doubtful:
                alone = floats[row : row + 1]
                a[row], b[row] = asked(self.model_a, alone)[0], asked(self.model_b, alone)[0]
                its = None if expected is None else expected[row : row + 1]
                again = self.divergence(a[row : row + 1], b[row : row + 1], its)
                certain = min(margins(a[row : row + 1])[0], margins(b[row : row + 1])[0]) > TIED
                amount[row], triggers[row] = again.amount[0], again.triggers[0] and certain
        return Evaluated(a, b, amount, triggers)


def margins(probabilities: NDArray[np.float32]) -> NDArray[np.float32]:
    """The greatest probability less the second, of each row; of a single class, 1."""
    if probabilities.shape[1] < 2:
        return np.ones(len(probabilities), dtype=np.float32)
    top: NDArray[np.float32] = np.partition(probabilities, -2, axis=1)[:, -2:]
    return top[:, 1] - top[:, 0]
