"""Batches of triggers to archive."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from diffgan.archive import Archive, TriggerBatch
from diffgan.images import ImageSpec

MakeBatch = Callable[..., TriggerBatch]


def _make_batch(start: int, rows: int, *, latents: bool = True, labels: bool = True, size: int = 4) -> TriggerBatch:
    """Triggers `start` to `start + rows`: the same number gives the same trigger."""
    numbers = np.arange(start, start + rows)
    images = np.zeros((rows, size, size, 1), dtype=np.uint8)
    images.reshape(rows, size * size)[:, :8] = numbers.astype("<u8").view(np.uint8).reshape(rows, 8)
    outputs = (numbers[:, None] * 3 + np.arange(3)).astype(np.float32)
    return TriggerBatch(
        images=images,
        outputs_a=outputs,
        outputs_b=-outputs,
        label_a=numbers % 3 if labels else None,
        label_b=(numbers + 1) % 3 if labels else None,
        divergence=numbers / 7,
        evaluation=numbers * 2,
        generation=numbers // 10,
        seconds=numbers / 100,
        queries_a=numbers * 3,
        queries_b=numbers * 4,
        latents=(numbers[:, None] + np.arange(5) / 8).astype(np.float32) if latents else None,
        classes=numbers % 3 if latents else None,
    )


@pytest.fixture
def make_batch() -> MakeBatch:
    return _make_batch


@pytest.fixture
def archive(tmp_path: Path) -> Iterator[Archive]:
    with Archive.create(tmp_path / "archive.db", ImageSpec(1, 4, 4), ["zero", "one", "two"]) as archive:
        yield archive
