"""The peers' algorithms as strategies: what they find by the oracle, and what they cost beside their bare loop.

    python docs/benchmarks/peers.py A B --data DATA --strategy NAME --evaluations N --judge MODEL... [--seeds 5000]
        [--discriminator DIR] [--batch 1024] [--rounds 3] [--set KEY=NUMBER ...]

The bare loop is A → B on the same number of images a batch, nothing else; both take turns, and the ratio is the median
of the rounds. What is found is the first round's: all rounds have the same seed, so the same finds.
"""

from __future__ import annotations

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from diffgan.datasets import Dataset, load_dataset
from diffgan.features.judge import Judge
from diffgan.images import to_floats
from diffgan.models import load_classifier
from diffgan.models.classifier import Classifier
from diffgan.models.pairs import load_pair
from diffgan.pipeline import Comparison, compare
from diffgan.search.strategies.protocol import DEFAULT_BATCH


def bare(models: tuple[Classifier, Classifier], data: Dataset, *, batch: int, evaluations: int) -> float:
    """Images per second of the loop alone, after a batch that warms up."""
    rng = np.random.default_rng(0)
    images = data.images[rng.integers(len(data.images), size=batch)]
    done, start = -batch, perf_counter()
    while done < evaluations:
        floats = to_floats(images)
        for model in models:
            model.predict(floats)
        done += batch
        start = perf_counter() if not done else start
    return done / (perf_counter() - start)


def searched(arguments: argparse.Namespace, data: Dataset, folder: Path) -> Comparison:
    """A run under the budget."""
    settings = dict(pair.split("=", 1) for pair in arguments.set)
    return compare(
        arguments.a,
        arguments.b,
        data=data,
        out=folder,
        strategy=arguments.strategy,
        settings={name: int(value) for name, value in settings.items()},
        discriminator=arguments.discriminator,
        seed=arguments.seed,
        batch=arguments.batch,
        evaluations=arguments.evaluations,
        filters=False,
        report=False,
    )


def finds(judge: Judge, made: Comparison) -> str:
    """What the oracle says of the triggers."""
    with made.archive() as archive:
        images, label_a, label_b = (archive.column(name) for name in ("images", "label_a", "label_b"))
    figures = judge.measure(images, label_a, label_b).yardstick
    per = 1000 / made.summary["evaluations"]
    return (
        f"{figures.unique:,} unique triggers ({figures.unique * per:.1f} per 1,000), {figures.valid:,} valid, "
        f"DV {figures.dv:,} ({figures.dv * per:.2f} per 1,000), {figures.cells} cells"
    )


def main() -> None:
    """Prints a line a round, and the median."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--data", required=True)
    parser.add_argument("--strategy", required=True)
    parser.add_argument("--evaluations", type=int, required=True)
    parser.add_argument("--judge", nargs="+", required=True)
    parser.add_argument("--seeds", type=int, default=5000, help="of the data, from its start")
    parser.add_argument("--discriminator", type=Path)
    parser.add_argument("--batch", type=int, default=DEFAULT_BATCH)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--set", nargs="*", default=[], metavar="KEY=NUMBER", help="the strategy's settings")
    arguments = parser.parse_args()
    data = load_dataset(arguments.data)
    opened = [
        load_classifier(path, spec=data.spec, options=None if place else {"features_name": "features"})
        for place, path in enumerate(arguments.judge)
    ]
    judge = Judge.calibrate(opened, data.images)
    models = load_pair(arguments.a, arguments.b, spec=data.spec)
    part = replace(data, images=data.images[: arguments.seeds], labels=data.labels[: arguments.seeds])
    ratios = []
    for turn in range(arguments.rounds):
        loop = bare(models, data, batch=arguments.batch, evaluations=arguments.evaluations)
        with tempfile.TemporaryDirectory() as folder:
            made = searched(arguments, part, Path(folder) / "run")
            speed = made.summary["evaluations_per_second"]
            ratios.append(speed / loop)
            shares = {name: f"{share:.0%}" for name, share in made.summary["time_share"].items() if share >= 0.005}
            print(f"bare {loop:,.0f}/s, search {speed:,.0f}/s, ratio {ratios[-1]:.3f}, {shares}", flush=True)
            if not turn:
                print(f"{arguments.strategy}, {made.summary['evaluations']:,} images: {finds(judge, made)}", flush=True)
    print(f"ratio {median(ratios):.3f}")


if __name__ == "__main__":
    main()
