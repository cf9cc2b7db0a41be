"""The archive: every trigger of a run, written as the search goes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import columns
from diffgan.archive.checkpoint import Checkpoint
from diffgan.archive.connection import create_file, open_file, writing
from diffgan.archive.faults import telling
from diffgan.archive.labels import Labels
from diffgan.archive.layout import Layout, read_layout, write_layout
from diffgan.archive.records import TriggerBatch
from diffgan.archive.triggers import Triggers
from diffgan.archive.verdicts import Verdicts
from diffgan.images import ImageSpec, image_ids


class Archive(Triggers):
    """The triggers of one run, in one file; others may read it, and label, while the search writes.

    Use it in one thread; a second thread or process opens the file for itself.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with Archive.create(Path(folder) / "archive.db", ImageSpec(1, 28, 28)) as archive:
        ...         archive.count()
        0
    """

    def __init__(self, path: Path, connection: sqlite3.Connection, layout: Layout) -> None:
        super().__init__(path, connection, layout)
        self.verdicts = Verdicts(connection, path, self._known)
        self.labels = Labels(connection, path, self._known, layout.class_names)
        self._checkpoint = Checkpoint(connection)

    @classmethod
    def create(cls, path: Path, image_spec: ImageSpec, class_names: Sequence[str] | None = None) -> Self:
        """Makes an empty archive and opens it.

        Raises:
            ArchiveError: the path is taken, or the disk refuses; nothing is left behind.
        """
        create_file(path, Layout(image_spec, None if class_names is None else tuple(class_names)))
        return cls.open(path)

    @classmethod
    def open(cls, path: Path, *, read_only: bool = False) -> Self:
        """Opens an archive.

        Raises:
            ArchiveError: it is missing, damaged, no archive, or of a newer diffgan.
        """
        connection = open_file(path, read_only=read_only)
        try:
            with telling("open the archive", path):
                return cls(path, connection, read_layout(connection, path))
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Closes the file; twice is no harm."""
        self._connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # Writing

    def add(
        self,
        batch: TriggerBatch,
        checkpoint: Mapping[str, bytes] | None = None,
        *,
        new_ids: NDArray[np.int64] | None = None,
    ) -> NDArray[np.bool_]:
        """Adds the triggers whose images are new, and with them the checkpoint: both are committed, or neither.

        Args:
            batch: the triggers, in the order of discovery.
            checkpoint: what a search needs to go on from here; it replaces the former one.
            new_ids: the ids of the images, where they are known to differ, and to be new.

        Returns:
            For each row, whether it was new; of equal images in the batch, the first.

        Raises:
            DataError: the batch does not fit the rows before it.
            ArchiveError: the disk refuses; the archive is as it was.
        """
        ids = image_ids(batch.images) if new_ids is None else new_ids
        with self._known.undone_with(), writing(self._connection, self.path):
            layout = self._settle(batch)
            is_new = np.ones(len(ids), dtype=np.bool_)
            if new_ids is None:
                is_new = _first_of_each(ids) & ~self.contains(ids)
            new = batch if is_new.all() else batch.select(is_new)
            self._insert(new, ids[is_new].tolist())
            if checkpoint is not None:
                self._checkpoint.replace(checkpoint)
        if checkpoint is not None:
            self._checkpoint.committed()
        self._layout = layout
        return is_new

    def save_checkpoint(self, checkpoint: Mapping[str, bytes]) -> None:
        """Replaces the checkpoint, with no trigger to add.

        Raises:
            ArchiveError: the disk refuses; the former checkpoint stands.
        """
        with writing(self._connection, self.path):
            self._checkpoint.replace(checkpoint)
        self._checkpoint.committed()

    def checkpoint(self) -> dict[str, bytes]:
        """The checkpoint of the last commit that brought one; empty before.

        Raises:
            ArchiveError: the file cannot be read.
        """
        with telling("read the archive", self.path):
            return self._checkpoint.read()

    def _settle(self, batch: TriggerBatch) -> Layout:
        layout = self._layout.settled_by(batch)
        if layout != self._layout:
            layout = read_layout(self._connection, self.path).settled_by(batch)
            write_layout(self._connection, layout)
        return layout

    def _insert(self, new: TriggerBatch, ids: list[int]) -> None:
        columns.insert(self._connection, new, ids, self.count() + 1)
        self._known.settle()


def _first_of_each(ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    first = np.zeros(len(ids), dtype=np.bool_)
    first[np.unique(ids, return_index=True)[1]] = True
    return first
