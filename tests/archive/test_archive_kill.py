"""A search killed at any moment loses at most the batch that it was writing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from diffgan.archive import Archive, StoredTriggers
from diffgan.images import ImageSpec, image_ids

KILLS = 200
WRITER = Path(__file__).with_name("killed_writer.py")


@dataclass
class Life:
    """One writer, from its start to its end."""

    pid: int
    reported: int  # batches that it said were committed

    def kill_somewhere(self, output: IO[bytes], rng: random.Random) -> None:
        """Ends it some batches on, at a random moment of the next one."""
        for _ in range(rng.randrange(12)):
            self.reported = int(output.readline())
        moment = time.perf_counter() + rng.uniform(0, 0.004)
        while time.perf_counter() < moment:
            pass
        os.kill(self.pid, signal.SIGKILL)
        for line in iter(output.readline, b"dead\n"):
            self.reported = int(line)


def rows_after(batches: int) -> int:
    return sum(1 + number * 7 % 60 for number in range(batches))


def expected_ids(first: int, last: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    images = np.zeros((last - first, 192), dtype=np.uint8)
    images[:, :8] = np.arange(first, last).astype("<u8").view(np.uint8).reshape(-1, 8)
    return image_ids(images.reshape(-1, 8, 8, 3))


def assert_whole(found: StoredTriggers, first: int) -> None:
    numbers = np.arange(first, first + len(found))
    outputs = (numbers[:, None] + np.arange(10)).astype(np.float32)
    assert_array_equal(found.ids, image_ids(found.images))
    assert_array_equal(found.numbers, numbers + 1)
    assert_array_equal(found.evaluation, numbers)
    assert_array_equal(found.outputs_a, outputs)
    assert_array_equal(found.outputs_b, -outputs)
    assert found.latents is not None
    assert_array_equal(found.latents, np.repeat(outputs, 10, axis=1))


def check_after_kill(path: Path, life: Life, checked: int, *, read_only: bool) -> tuple[int, int]:
    """How many batches and rows there are, once all is found as it should be."""
    with Archive.open(path, read_only=read_only) as archive:
        state = archive.checkpoint()
        batches = int(state.get("batches", b"0"))
        assert batches in (life.reported, life.reported + 1)
        rows = rows_after(batches)
        assert archive.count() == rows == int(state.get("rows", b"0"))
        assert state.get("population", b"") == bytes([batches % 256]) * (batches * 97 % 9000)
        if rows > checked:
            assert_whole(archive.find(expected_ids(checked, rows)), checked)
    return batches, rows


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and SIGKILL")
def test_a_killed_search_loses_at_most_its_last_batch(tmp_path: Path) -> None:
    path, rng = tmp_path / "archive.db", random.Random(7)
    Archive.create(path, ImageSpec(3, 8, 8)).close()
    batches = rows = 0
    with subprocess.Popen(
        [sys.executable, str(WRITER), str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as nursery:
        assert nursery.stdin is not None
        assert nursery.stdout is not None
        for kill in range(KILLS):
            nursery.stdin.write(b"go\n")
            life = Life(int(nursery.stdout.readline().removeprefix(b"pid ")), batches)
            life.kill_somewhere(nursery.stdout, rng)
            batches, rows = check_after_kill(path, life, rows, read_only=kill % 2 == 0)
    assert batches > KILLS
    with Archive.open(path) as archive:
        first = 0
        for batch in archive.batches():
            assert_whole(batch, first)
            first += len(batch)
        assert first == rows
        assert not archive.add(archive.find(expected_ids(0, rows))).any()
