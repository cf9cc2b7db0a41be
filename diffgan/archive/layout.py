"""The shapes that all rows of an archive share, kept in its `meta` table."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from diffgan.archive.faults import damaged
from diffgan.archive.records import TriggerBatch
from diffgan.errors import DataError
from diffgan.images import ImageSpec

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layout:
    """What one row looks like; a shape is None until the first batch has settled it."""

    image: ImageSpec
    class_names: tuple[str, ...] | None = None
    outputs_a: Shape | None = None
    outputs_b: Shape | None = None
    latents: Shape | None = None

    def shape(self, column: str) -> Shape | None:
        """The shape of one row of a column of blobs."""
        if column == "images":
            return (self.image.height, self.image.width, self.image.channels)
        shape: Shape | None = getattr(self, column)
        return shape

    def settled_by(self, batch: TriggerBatch) -> Layout:
        """The layout after `batch`, whose shapes must be those already settled.

        Raises:
            DataError: a shape differs.
        """
        if len(batch) == 0:
            return self
        _check_shape("images", batch.images.shape[1:], expected=self.shape("images"))
        settled: dict[str, Shape] = {}
        for name in ("outputs_a", "outputs_b", "latents"):
            column = getattr(batch, name)
            if column is not None:
                _check_shape(name, column.shape[1:], expected=self.shape(name))
                settled[name] = column.shape[1:]
        return replace(self, **settled)  # type: ignore[arg-type]


def write_layout(connection: sqlite3.Connection, layout: Layout) -> None:
    """Keeps the layout, within the caller's transaction."""
    rows = [(name, json.dumps(value)) for name, value in asdict(layout).items()]
    connection.executemany("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", rows)


def read_layout(connection: sqlite3.Connection, path: Path) -> Layout:
    """The layout that the file holds.

    Raises:
        ArchiveError: it holds none that makes sense.
    """
    try:
        values: dict[str, Any] = {
            name: json.loads(value) for name, value in connection.execute("SELECT name, value FROM meta")
        }
        names = values["class_names"]
        return Layout(
            image=ImageSpec(**values["image"]),
            class_names=None if names is None else tuple(names),
            outputs_a=_shape(values["outputs_a"]),
            outputs_b=_shape(values["outputs_b"]),
            latents=_shape(values["latents"]),
        )
    except (ValueError, TypeError, KeyError) as error:
        raise damaged(path, "its description of the rows is unreadable") from error


def _shape(value: list[int] | None) -> Shape | None:
    return None if value is None else tuple(int(size) for size in value)


def _check_shape(name: str, given: Shape, *, expected: Shape | None) -> None:
    if expected is not None and tuple(given) != expected:
        raise DataError(
            f"{name} of a trigger batch have shape {tuple(given)} per image; this archive holds {expected}: "
            "use the same models, generator and data, or a new run folder."
        )
