"""An archive of one-by-two images, whose first pixels the tests choose."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from diffgan.archive import Archive, TriggerBatch
from diffgan.images import ByteImages, ImageSpec

MakeArchive = Callable[..., Archive]


def _images(pixels: Sequence[int]) -> ByteImages:
    return np.array([(pixel, 9) for pixel in pixels], dtype=np.uint8).reshape(-1, 1, 2, 1)


def _batch(pixels: Sequence[int]) -> TriggerBatch:
    count = len(pixels)
    outputs = np.tile(np.array([0.25, 0.75], dtype=np.float32), (count, 1))
    numbers = np.arange(count)
    return TriggerBatch(
        images=_images(pixels),
        outputs_a=outputs,
        outputs_b=outputs[:, ::-1].copy(),
        label_a=numbers * 0 + 1,
        label_b=numbers * 0,
        divergence=numbers / 7,
        evaluation=numbers,
        generation=numbers,
        seconds=numbers / 100,
        queries_a=numbers,
        queries_b=numbers,
    )


@pytest.fixture
def make_archive(tmp_path: Path) -> Iterator[MakeArchive]:
    """Makes archives whose triggers have these first pixels."""
    opened: list[Archive] = []

    def make(pixels: Sequence[int], names: Sequence[str] | None = ("dark", "bright")) -> Archive:
        archive = Archive.create(tmp_path / f"{len(opened)}.db", ImageSpec(1, 1, 2), names)
        opened.append(archive)
        archive.add(_batch(pixels))
        return archive

    yield make
    for archive in opened:
        archive.close()
