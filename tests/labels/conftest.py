"""An archive of one-by-two images, whose first pixels the tests choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from diffgan.archive import Archive
from diffgan.images import ImageSpec
from tests.labels.triggers import batch

MakeArchive = Callable[..., Archive]


@pytest.fixture
def make_archive(tmp_path: Path) -> Iterator[MakeArchive]:
    """Makes archives whose triggers have these first pixels."""
    opened: list[Archive] = []

    def make(pixels: Sequence[int], names: Sequence[str] | None = ("dark", "bright")) -> Archive:
        archive = Archive.create(tmp_path / f"{len(opened)}.db", ImageSpec(1, 1, 2), names)
        opened.append(archive)
        archive.add(batch(*pixels))
        return archive

    yield make
    for archive in opened:
        archive.close()
