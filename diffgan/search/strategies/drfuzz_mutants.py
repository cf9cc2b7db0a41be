"""Mutants of DRFuzz between their making and the models' answers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages

#: The iteration of a real image that is shown as it is.
AS_IT_IS = -1


@dataclass(frozen=True, eq=False)
class Mutants:
    """Images on their way to the models, a row each; see `Seeds` for what is said of their parents.

    Attributes:
        images: theirs.
        iteration: the one within this batch that made them; `AS_IT_IS` for real images.
        nth: which mutant of the iteration it is.
        root: the real image that each comes from.
        generation: the parent's.
        parent: the evaluation that showed the parent.
        trust: the parent's.
    """

    images: ByteImages
    iteration: NDArray[np.int64]
    nth: NDArray[np.int64]
    root: NDArray[np.int64]
    generation: NDArray[np.int64]
    parent: NDArray[np.int64]
    trust: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.root)

    def take(self, rows: NDArray[Any] | slice) -> Mutants:
        """Some of them."""
        return Mutants(**{field.name: getattr(self, field.name)[rows] for field in fields(self)})


def joined(parts: list[Mutants]) -> Mutants:
    """All of them, in order."""
    columns = {field.name: np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(Mutants)}
    return Mutants(**columns)
