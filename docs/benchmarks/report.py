"""How long a report of a large run takes, and how large it is.

    python docs/benchmarks/report.py [--count 100000] [--classes 10] [--channels 1] [--side 28]

The run is made of a data set's own images and noise, with random labels; no model is asked.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

from diffgan.archive import Archive, TriggerBatch
from diffgan.datasets import load_dataset
from diffgan.images import ImageSpec
from diffgan.report import write_report

BATCH = 1024


def batch(numbers: np.ndarray, given: argparse.Namespace, real: np.ndarray) -> TriggerBatch:
    """Triggers around enlarged digits, so that they lie in clusters."""
    rng = np.random.default_rng(int(numbers[0]))
    count, side = len(numbers), given.side
    label_a = (rng.random(count) ** 2 * given.classes).astype(np.int64)
    label_b = (label_a + rng.integers(1, given.classes, count)) % given.classes
    where = np.arange(side) * 8 // side
    digits = real[rng.integers(0, 40, count)][:, where][:, :, where].astype(np.float32)
    noisy = np.repeat(digits, given.channels, axis=3) + rng.normal(0, 25, (count, side, side, given.channels))
    outputs = rng.random((2, count, given.classes), dtype=np.float32)
    return TriggerBatch(
        images=np.clip(noisy, 0, 255).astype(np.uint8),
        outputs_a=outputs[0],
        outputs_b=outputs[1],
        label_a=label_a,
        label_b=label_b,
        divergence=1 + rng.random(count),
        evaluation=numbers * 3,
        generation=numbers // 1000,
        seconds=numbers / 100,
        queries_a=numbers * 3,
        queries_b=numbers * 3,
        latents=rng.random((count, 100), dtype=np.float32),
    )


def build(folder: Path, given: argparse.Namespace) -> None:
    """The run, with verdicts of two filters and labels of a judge."""
    folder.mkdir()
    names = [f"class {number}" for number in range(given.classes)]
    real, spec = load_dataset("digits").images, ImageSpec(given.channels, given.side, given.side)
    with Archive.create(folder / "archive.db", spec, names) as archive:
        for start in range(0, given.count, BATCH):
            archive.add(batch(np.arange(start, min(start + BATCH, given.count)), given, real))
        ids, rng = archive.column("ids"), np.random.default_rng(0)
        passed = rng.random(len(ids)) < 0.6
        archive.verdicts.write("recognisable", ids, passed=passed, scores=rng.random(len(ids)))
        archive.verdicts.write("ssim", ids[passed], passed=rng.random(passed.sum()) < 0.9)
        archive.labels.write("judge:benchmark", ids, [int(number) % given.classes for number in ids])


def main() -> None:
    """Prints seconds, megabytes and memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    for name, usual in (("count", 100_000), ("classes", 10), ("channels", 1), ("side", 28)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        build(Path(scratch) / "run", given)
        began = time.perf_counter()
        path = write_report(Path(scratch) / "run")
        seconds, size = time.perf_counter() - began, path.stat().st_size
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{given.count:,} triggers: {seconds:.1f} s, {size / 1e6:.2f} MB, at most {memory:.0f} MiB of memory")


if __name__ == "__main__":
    main()
