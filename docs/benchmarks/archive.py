"""How fast the archive takes triggers, beside a bare SQLite loop that writes the same bytes in the same run.

    python docs/benchmarks/archive.py [--count 1000000]

Triggers are 28x28x1 with 100 latents and two outputs of 10, added in batches of 512, hashing included; the making of
the data is not timed. The bare loop has no index, no hashing and no check for duplicates.
"""

from __future__ import annotations

import argparse
import resource
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from diffgan.archive import Archive, TriggerBatch
from diffgan.images import ImageSpec

BATCH = 512


def batches(count: int) -> Iterator[TriggerBatch]:
    """Batches of random triggers, the same in every run."""
    rng = np.random.default_rng(0)
    for start in range(0, count, BATCH):
        rows = min(BATCH, count - start)
        numbers = np.arange(start, start + rows)
        yield TriggerBatch(
            images=rng.integers(0, 256, (rows, 28, 28, 1), dtype=np.uint8),
            outputs_a=rng.random((rows, 10), dtype=np.float32),
            outputs_b=rng.random((rows, 10), dtype=np.float32),
            label_a=rng.integers(0, 10, rows),
            label_b=rng.integers(0, 10, rows),
            divergence=rng.random(rows),
            evaluation=numbers,
            generation=numbers // 1000,
            seconds=numbers / 1000,
            queries_a=numbers,
            queries_b=numbers,
            latents=rng.random((rows, 100), dtype=np.float32),
            classes=rng.integers(0, 10, rows),
        )


def time_archive(path: Path, count: int) -> float:
    """Seconds to add `count` triggers to a new archive."""
    spent = 0.0
    with Archive.create(path, ImageSpec(1, 28, 28)) as archive:
        for batch in batches(count):
            start = time.perf_counter()
            archive.add(batch, {"rng": b"x" * 1000})
            spent += time.perf_counter() - start
        start = time.perf_counter()
    return spent + time.perf_counter() - start


def time_bare(path: Path, count: int) -> float:
    """Seconds for `executemany` of the same bytes, a transaction per batch."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("CREATE TABLE bare (image BLOB, a BLOB, b BLOB, latents BLOB)")
    spent = 0.0
    for batch in batches(count):
        start = time.perf_counter()
        rows = [
            tuple(
                np.asarray(part[row]).tobytes()
                for part in (batch.images, batch.outputs_a, batch.outputs_b, batch.latents)
            )
            for row in range(len(batch))
            if batch.latents is not None
        ]
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO bare VALUES (?, ?, ?, ?)", rows)
        connection.execute("COMMIT")
        spent += time.perf_counter() - start
    start = time.perf_counter()
    connection.close()
    return spent + time.perf_counter() - start


def time_opening(path: Path) -> float:
    """Seconds to open the archive and count its triggers."""
    start = time.perf_counter()
    with Archive.open(path, read_only=True) as archive:
        archive.count()
        archive.count(kept_only=True)
    return time.perf_counter() - start


def time_walk(path: Path) -> float:
    """Seconds to read every trigger, all columns."""
    start = time.perf_counter()
    with Archive.open(path, read_only=True) as archive:
        for _ in archive.batches():
            pass
    return time.perf_counter() - start


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=1_000_000)
    count = parser.parse_args().count
    with tempfile.TemporaryDirectory() as folder:
        path, bare = Path(folder) / "archive.db", Path(folder) / "bare.db"
        added, opened, walked = time_archive(path, count), time_opening(path), time_walk(path)
        size = path.stat().st_size
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        looped = time_bare(bare, count)
    print(f"{'triggers':<34}{count:>12,}")
    print(f"{'archive, added per second':<34}{count / added:>12,.0f}")
    print(f"{'bare executemany, per second':<34}{count / looped:>12,.0f}")
    print(f"{'archive / bare, time':<34}{added / looped:>12.2f}")
    print(f"{'open and count, seconds':<34}{opened:>12.4f}")
    print(f"{'read all, per second':<34}{count / walked:>12,.0f}")
    print(f"{'file, bytes per trigger':<34}{size / count:>12,.0f}")
    print(f"{'peak memory, MiB':<34}{peak:>12,.0f}")


if __name__ == "__main__":
    main()
