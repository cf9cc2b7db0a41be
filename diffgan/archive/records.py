"""Triggers by column, as they go into the archive and come out of it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError
from diffgan.images import ByteImages, hex_id

NO_INDEX = -1
"""Stands for an absent label, class or seed index within a column that has some."""
NO_PARENT = 0
"""Stands for an absent parent within a column that has some."""

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]
Floats = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True, eq=False)
class TriggerBatch:
    """N triggers, one row each in every column; a column that may be absent is None when no row has it.

    Args:
        images: uint8, N x H x W x C, exactly what both models saw.
        outputs_a: what model A answered, N x the shape of its task.
        outputs_b: what model B answered.
        label_a: A's label; None for a task whose outputs are no classes, `NO_INDEX` where only some rows lack one.
        label_b: B's label.
        divergence: how far the outputs are apart.
        evaluation: the number of the evaluation that found it.
        generation: the generation of the search.
        seconds: the search clock when found.
        queries_a: queries to A so far.
        queries_b: queries to B so far.
        latents: what the generator received; a row of NaN where only some rows lack them.
        classes: the class asked of a conditional generator, or `NO_INDEX`.
        seed_index: the real image that a mutation began with, or `NO_INDEX`.
        parent: the number of the evaluation that made the first of its parents, or `NO_PARENT`.

    Raises:
        DataError: the columns do not fit together.
    """

    images: ByteImages
    outputs_a: Floats
    outputs_b: Floats
    label_a: Integers | None
    label_b: Integers | None
    divergence: Reals
    evaluation: Integers
    generation: Integers
    seconds: Reals
    queries_a: Integers
    queries_b: Integers
    latents: Floats | None = None
    classes: Integers | None = None
    seed_index: Integers | None = None
    parent: Integers | None = None

    def __post_init__(self) -> None:
        if self.images.dtype != np.uint8 or self.images.ndim != 4:
            raise DataError(
                f"images of a trigger batch are {self.images.dtype} of shape {self.images.shape}; "
                "expected uint8, N×H×W×C: convert them with diffgan.images.to_bytes."
            )
        for name, column in self.columns().items():
            _check_column(name, column, rows=len(self))

    def __len__(self) -> int:
        return len(self.images)

    def columns(self) -> dict[str, NDArray[Any] | None]:
        """The columns by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def select(self, rows: NDArray[Any] | slice) -> Self:
        """The rows that a mask, a list of indices or a slice picks."""
        picked: dict[str, Any] = {name: _rows(column, rows) for name, column in self.columns().items()}
        return type(self)(**picked)


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredTriggers(TriggerBatch):
    """Triggers as the archive holds them.

    Args:
        numbers: the place in the order of discovery, from 1.
        ids: the id of each image; `hex_ids` for people.
        kept: no filter has rejected it.
    """

    numbers: Integers
    ids: Integers
    kept: NDArray[np.bool_]

    @property
    def hex_ids(self) -> list[str]:
        """The ids as 16 hex digits each."""
        return [hex_id(number) for number in self.ids]


_WHOLE = {"label_a", "label_b", "evaluation", "generation", "queries_a", "queries_b", "classes", "seed_index", "parent"}
_PER_ROW = {"images", "outputs_a", "outputs_b", "latents"}


def _check_column(name: str, column: NDArray[Any] | None, *, rows: int) -> None:
    if column is None:
        return
    if len(column) != rows:
        raise DataError(f"{name} of a trigger batch has {len(column)} rows; expected {rows}, one for each image.")
    if name in _WHOLE and not np.issubdtype(column.dtype, np.integer):
        raise DataError(f"{name} of a trigger batch is {column.dtype}; expected integers.")
    if name not in _PER_ROW and column.ndim != 1:
        raise DataError(f"{name} of a trigger batch has shape {column.shape}; expected ({rows},): one number each.")


def _rows(column: NDArray[Any] | None, rows: NDArray[Any] | slice) -> NDArray[Any] | None:
    return None if column is None else column[rows]
