"""Reading the triggers of an archive."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import columns, reading
from diffgan.archive.connection import reading as one_view
from diffgan.archive.faults import telling
from diffgan.archive.known import Known
from diffgan.archive.layout import Layout, read_layout
from diffgan.archive.records import StoredTriggers
from diffgan.errors import DataError
from diffgan.images import ByteImages, ImageSpec, hex_id, id_from_hex


class Triggers:
    """What was found, as it stands now.

    Args:
        path: the archive's.
        connection: to it.
        layout: the shapes of its rows, as far as they are known.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, layout: Layout) -> None:
        self.path = path
        self._known = Known(connection)
        self._connection = connection
        self._layout = layout

    @property
    def image_spec(self) -> ImageSpec:
        """The size of every image."""
        return self._layout.image

    @property
    def class_names(self) -> tuple[str, ...] | None:
        """The names of the classes, if they have any."""
        return self._layout.class_names

    @property
    def layout(self) -> Layout:
        """The shapes that all rows share, as far as the first batch has settled them."""
        return self._fresh_source().layout

    def count(self, *, kept_only: bool = False) -> int:
        """How many triggers there are, or how many of them no filter has rejected.

        Raises:
            ArchiveError: the file cannot be read.
        """
        return reading.count(self._source(), reading.Selection(kept_only))

    def disagreement(self, *, kept_only: bool = False) -> dict[tuple[int | None, int | None], int]:
        """How many triggers there are by label of A and label of B; None for a task without labels.

        Raises:
            ArchiveError: the file cannot be read.
        """
        conditions = reading.Selection(kept_only).conditions
        sql = f"SELECT label_a, label_b, count(*) FROM triggers WHERE TRUE{conditions} GROUP BY label_a, label_b"
        with telling("read the archive", self.path):
            return {(a, b): number for a, b, number in self._connection.execute(sql)}

    def contains(self, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
        """For each id, whether its image is archived.

        Raises:
            ArchiveError: the file cannot be read.
        """
        with telling("read the archive", self.path):
            return self._known.has(ids)

    def find(self, ids: Sequence[int] | NDArray[np.int64]) -> StoredTriggers:
        """The triggers with these ids, in this order.

        Raises:
            DataError: one of them is not in the archive.
            ArchiveError: the file cannot be read.
        """
        wanted = [int(number) for number in ids]
        source = self._fresh_source()
        with telling("read the archive", self.path):
            known = self._known.numbers_of(wanted)
        rows = reading.rows_by_number(source, columns.ALL, [known.get(number) for number in wanted])
        for number, row in zip(wanted, rows, strict=True):
            if row is None:
                raise DataError(f"{self.path} has no trigger {hex_id(number)}: copy the id from its report.")
        return _stored(reading.arrays(source, columns.ALL, [row for row in rows if row]))

    def images_at(self, numbers: Sequence[int] | NDArray[np.int64]) -> ByteImages:
        """The images with these places in the order of discovery, from 1.

        Raises:
            DataError: there are not so many triggers.
            ArchiveError: the file cannot be read.
        """
        wanted, source, image = [int(number) for number in numbers], self._fresh_source(), [_column("images")]
        rows = reading.rows_by_number(source, image, wanted)
        for number, row in zip(wanted, rows, strict=True):
            if row is None:
                raise DataError(f"{self.path} has no trigger number {number}: there are {self.count()}.")
        images: ByteImages = reading.arrays(source, image, [row for row in rows if row])["images"]
        return images

    def lookup(self, hex_digits: str) -> StoredTriggers:
        """The one trigger with this id.

        Raises:
            DataError: it is not in the archive, or no id.
            ArchiveError: the file cannot be read.
        """
        return self.find([id_from_hex(hex_digits)])

    def batches(
        self, *, size: int | None = None, kept_only: bool = False, unjudged_by: str | None = None
    ) -> Iterator[StoredTriggers]:
        """The triggers that are there now, in the order of discovery, without loading them all.

        Args:
            size: rows per batch; by default as many as fit into a few MiB.
            kept_only: leave out what a filter has rejected.
            unjudged_by: only those without a verdict of this filter.

        Raises:
            ArchiveError: the file cannot be read.
        """
        source = self._fresh_source()
        selection = reading.Selection(kept_only, unjudged_by)
        for page in reading.pages(source, columns.ALL, selection, size):
            yield _stored(page)

    def stream(
        self, *names: str, size: int | None = None, kept_only: bool = False
    ) -> Iterator[dict[str, NDArray[Any]]]:
        """Like `batches`, but only the columns (fields of `StoredTriggers`) that are named.

        Values that a row lacks are `NO_INDEX`, `NO_PARENT` or NaN; `has` tells whether a column has any at all.

        Raises:
            DataError: there is no such column.
            ArchiveError: the file cannot be read.
        """
        wanted = [_column(name) for name in names]
        yield from reading.pages(self._fresh_source(), wanted, reading.Selection(kept_only), size)

    def column(self, name: str, *, kept_only: bool = False) -> NDArray[Any]:
        """One column of all triggers at once, with `NO_INDEX`, `NO_PARENT` or NaN for what a row lacks.

        Raises:
            DataError: there is no such column.
            ArchiveError: the file cannot be read.
        """
        parts = [page[name] for page in self.stream(name, kept_only=kept_only)]
        return np.concatenate([columns.empty(_column(name), self._layout), *parts])

    def has(self, name: str) -> bool:
        """Whether any trigger has a value in this column.

        Raises:
            DataError: there is no such column.
            ArchiveError: the file cannot be read.
        """
        column = _column(name)
        sql = f"SELECT EXISTS (SELECT 1 FROM {columns.source_of([column])} WHERE {column.expression} IS NOT NULL)"
        with telling("read the archive", self.path):
            return bool(self._connection.execute(sql).fetchone()[0])

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Within it, the archive is read as it stands at the first look, whatever others write.

        Raises:
            ArchiveError: the file cannot be read.
        """
        with one_view(self._connection, self.path):
            yield

    def _source(self) -> reading.Source:
        return reading.Source(self._connection, self.path, self._layout)

    def _fresh_source(self) -> reading.Source:
        """The shapes may have been settled by another process since."""
        with telling("read the archive", self.path):
            self._layout = read_layout(self._connection, self.path)
        return self._source()


def _column(name: str) -> columns.Column:
    if name not in columns.BY_NAME:
        raise DataError(f"The archive has no column {name!r}; expected one of {', '.join(columns.BY_NAME)}.")
    return columns.BY_NAME[name]


def _stored(page: reading.Arrays) -> StoredTriggers:
    present: dict[str, Any] = {
        name: None if columns.is_absent(columns.BY_NAME[name], values) else values for name, values in page.items()
    }
    return StoredTriggers(**present)
