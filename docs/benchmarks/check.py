"""What the search of `diffgan check` finds: distinct valid images that the old model has right and the new one wrong.

    python docs/benchmarks/check.py OLD NEW --generator G --data DATA --judge MODEL... [--seconds 120]
        [--strategy nsga2] [--seed 0] [--outcome regressions|disagreements] [--most 300000] [--run DIR]

Valid and distinct are by the judges, as in the yardstick; of regressions, only those count that are distinct from the
regressions among the data, too. Regressions are looked for among finds that the old model gives the class that the
generator was asked for, and the new one not; of more than `--most`, so many evenly spaced ones are looked at. So the
figures are lower bounds. `--run` keeps the search's folder; one that is there is judged as it is.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from diffgan.archive import Archive
from diffgan.check.gate import DIVERGENCE, WIDE
from diffgan.check.outcomes import Outcome, ask
from diffgan.datasets import Dataset, load_dataset
from diffgan.features.judge import Judge, Verdicts
from diffgan.images import ByteImages, image_ids
from diffgan.models import load_classifier
from diffgan.models.pairs import load_pair
from diffgan.pipeline import compare
from diffgan.runs import RunFolder

Finds = tuple[ByteImages, np.ndarray, np.ndarray]


def main() -> None:
    """Prints a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--generator", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--judge", nargs="+", required=True)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--strategy", default="nsga2")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--outcome", choices=["regressions", "disagreements"], default="regressions")
    parser.add_argument("--most", type=int, default=300_000)
    parser.add_argument("--run", type=Path)
    arguments = parser.parse_args()
    data = load_dataset(arguments.data)
    options = {"features_name": "features"}
    judge = Judge.calibrate(
        [load_classifier(name, spec=data.spec, options=options) for name in arguments.judge], data.images
    )
    wants_regressions = arguments.outcome == "regressions"
    known = regressions_of_data(arguments, data) if wants_regressions else none_of(data)
    images, old, new = searched(arguments, guided=wants_regressions)
    said = judge.verdicts(images)
    worse = (said.label == old) & (said.label != new)
    counts = said.valid & (worse if wants_regressions else True)
    print(f"  judged {len(images):,}, valid {said.valid.sum():,}, of them {arguments.outcome} {counts.sum():,}")
    print(f"  distinct: {distinct(judge, known, (images[counts], old[counts], new[counts]))}", flush=True)


def regressions_of_data(arguments: argparse.Namespace, data: Dataset) -> Finds:
    """What the data shows already."""
    models = load_pair(arguments.old, arguments.new, spec=data.spec)
    answers = ask(models, image_ids(data.images), data.images, data.labels)
    rows = answers.rows(Outcome.REGRESSION)
    return data.images[rows], answers.old[rows], answers.new[rows]


def none_of(data: Dataset) -> Finds:
    """No images of this size."""
    return data.images[:0], np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)


def search(arguments: argparse.Namespace, out: Path) -> None:
    """As `check` does it."""
    compare(
        arguments.old,
        arguments.new,
        data=arguments.data,
        generator=arguments.generator,
        strategy=arguments.strategy,
        divergence=DIVERGENCE,
        settings=WIDE if arguments.strategy == "nsga2" else {},
        budget=arguments.seconds,
        seed=arguments.seed,
        filters=False,
        report=False,
        out=out,
    )


def searched(arguments: argparse.Namespace, *, guided: bool) -> Finds:
    """What a search has found."""
    with tempfile.TemporaryDirectory() as folder:
        run = RunFolder(arguments.run or Path(folder) / "run")
        if not run.path.exists():
            search(arguments, run.path)
        summary = run.summary() or {}
        with Archive.open(run.archive, read_only=True) as archive:
            old, new, asked = (archive.column(name) for name in ("label_a", "label_b", "classes"))
            rows = np.flatnonzero((old == asked) & (new != asked)) if guided else np.arange(len(old))
            rows = rows[:: -(-max(len(rows), 1) // arguments.most)]
            images = archive.images_at(rows + 1)
    print(
        f"{summary['strategy']}, seed {summary['seed']}: {summary['evaluations']:,} images in "
        f"{summary['seconds']:.1f} s, {summary['unique']:,} unique triggers"
    )
    return images, old[rows], new[rows]


def distinct(judge: Judge, known: Finds, finds: Finds) -> int:
    """How many finds are distinct from one another and from what is known, which counts whether valid or not."""
    images, old, new = (np.concatenate([first, second]) for first, second in zip(known, finds, strict=True))
    said = judge.verdicts(images)
    everything = Verdicts(np.ones(len(images), dtype=np.bool_), said.label, said.confidence, said.features)
    counted = judge.measure(images, old, new, verdicts=everything).counted
    return int((counted >= len(known[0])).sum())


if __name__ == "__main__":
    main()
