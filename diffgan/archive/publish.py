"""A file or folder appears at its destination whole, or not at all."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diffgan.archive.faults import telling
from diffgan.errors import ArchiveError


@contextmanager
def published(destination: Path) -> Iterator[Path]:
    """Gives a path beside `destination` to write to, and moves it there once the block has ended well.

    Raises:
        ArchiveError: the destination exists, or the disk refuses.
    """
    if os.path.lexists(destination):
        raise _exists(destination)
    with telling("write", destination):
        parent = destination.absolute().parent
        workplace = Path(tempfile.mkdtemp(prefix=f".{destination.name[:40]}.", suffix=".part", dir=parent))
        try:
            draft = workplace / destination.name
            yield draft
            _move(draft, destination)
        finally:
            shutil.rmtree(workplace, ignore_errors=True)


def _move(draft: Path, destination: Path) -> None:
    if draft.is_dir():
        if os.path.lexists(destination):
            raise _exists(destination)
        draft.rename(destination)
        return
    _flush(draft)
    try:
        os.link(draft, destination)  # unlike a rename, it never replaces a file that came up meanwhile
    except FileExistsError:
        raise _exists(destination) from None
    except OSError:  # a file system without links
        draft.rename(destination)


def _flush(draft: Path) -> None:
    with draft.open("rb+") as file:
        os.fsync(file.fileno())


def _exists(destination: Path) -> ArchiveError:
    return ArchiveError(f"{destination} exists already, and nothing is overwritten: choose another name, or remove it.")
