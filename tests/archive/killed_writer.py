"""A search that writes until it is killed; run as a program by test_archive_kill.py.

For every line on stdin it forks a writer (the imports are then done already), which says its process id, and after
every commit how many batches there are; `dead` follows when the writer has ended.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from diffgan.archive import Archive, TriggerBatch


def batch_rows(number: int) -> int:
    """How many triggers batch `number` has."""
    return 1 + number * 7 % 60


def make_batch(start: int, rows: int) -> TriggerBatch:
    numbers = np.arange(start, start + rows)
    images = np.zeros((rows, 8, 8, 3), dtype=np.uint8)
    images.reshape(rows, -1)[:, :8] = numbers.astype("<u8").view(np.uint8).reshape(rows, 8)
    outputs = (numbers[:, None] + np.arange(10)).astype(np.float32)
    return TriggerBatch(
        images=images,
        outputs_a=outputs,
        outputs_b=-outputs,
        label_a=numbers % 10,
        label_b=numbers % 9,
        divergence=numbers / 2,
        evaluation=numbers,
        generation=numbers,
        seconds=numbers / 4,
        queries_a=numbers,
        queries_b=numbers,
        latents=np.repeat(outputs, 10, axis=1),
    )


def write_until_killed(path: Path) -> None:
    with Archive.open(path) as archive:
        state = archive.checkpoint()
        batches, rows = int(state.get("batches", b"0")), int(state.get("rows", b"0"))
        while True:
            added = batch_rows(batches)
            batches, rows = batches + 1, rows + added
            population = bytes([batches % 256]) * (batches * 97 % 9000)
            checkpoint = {"batches": b"%d" % batches, "rows": b"%d" % rows, "population": population}
            archive.add(make_batch(rows - added, added), checkpoint)
            os.write(1, b"%d\n" % batches)


def main() -> None:
    for _ in sys.stdin.buffer:
        writer = os.fork()
        if writer == 0:
            os.write(1, b"pid %d\n" % os.getpid())
            write_until_killed(Path(sys.argv[1]))
        os.waitpid(writer, 0)
        os.write(1, b"dead\n")


if __name__ == "__main__":
    main()
