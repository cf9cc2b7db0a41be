"""The peers' algorithms as strategies: what they find by the oracle, and what they cost beside their bare loops.

    python docs/benchmarks/peers.py A B --data DATA --strategy NAME --evaluations N --judge MODEL... [--seeds 5000]
        [--discriminator DIR] [--batch 1024] [--rounds 3] [--set KEY=NUMBER ...]

Two bare loops, which take turns with the search, and the medians of the rounds' ratios to both: "models" is A → B on
real images, nothing else; "whole" is what generator → A → B is to a strategy with a generator: mutants
(→ discriminator) → A → B. Its mutants are of real images, by the operators that this search took, as often as it did,
and the discriminator is asked of as many for each image shown; it has no seeds to choose, nothing to learn and no
archive. What is found is the first round's: all rounds have the same seed, so the same finds.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Self

import numpy as np
from numpy.typing import NDArray

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import UsageError
from diffgan.features.judge import Judge
from diffgan.images import ByteImages, to_floats
from diffgan.models import load_classifier
from diffgan.models.classifier import Classifier
from diffgan.models.pairs import load_pair
from diffgan.pipeline import Comparison, compare
from diffgan.preparation import fitting_discriminator
from diffgan.search.checkpoint import unpack
from diffgan.search.mutations import DFLARE, DRFUZZ, Mutation, mutate
from diffgan.search.strategies.protocol import DEFAULT_BATCH

#: The operators of strategies that mutate real images.
OPERATORS: dict[str, dict[str, Mutation]] = {"drfuzz": DRFUZZ, "drfuzz-free": DRFUZZ, "dflare": DFLARE}


@dataclass(frozen=True)
class Source:
    """Mutants as a search made them.

    Attributes:
        operators: those it has.
        shares: how often it took each.
        tried: of how many mutants the discriminator was asked for each image shown; 0: there is none.
    """

    operators: tuple[Mutation, ...]
    shares: NDArray[np.float64]
    tried: float

    @classmethod
    def of(cls, strategy: str, made: Comparison) -> Self:
        """As in a run's last checkpoint."""
        with made.archive() as archive:
            spent, state, _ = unpack(archive.checkpoint())
        picked = np.asarray(state["operators"][0], dtype=np.float64)
        tried = state["gate/counts"][0] / spent.evaluations if "gate/counts" in state else 0.0
        if not picked.any():
            raise UsageError(f"{strategy} made no mutant in so few images: raise --evaluations.")
        return cls(tuple(OPERATORS[strategy].values()), picked / picked.sum(), float(tried))

    def batches(self, data: Dataset, batch: int, discriminator: Path | None) -> Callable[[], ByteImages]:
        """Gives the next images."""
        rng = np.random.default_rng(0)
        realness = fitting_discriminator(discriminator, data) if self.tried and discriminator else None
        count = max(batch, round(batch * self.tried))

        def following() -> ByteImages:
            rows = rng.integers(len(data.images), size=count)
            chosen = rng.choice(len(self.operators), size=count, p=self.shares)
            images = mutate(self.operators, chosen, data.images[rows], rng)
            if realness is None:
                return images
            scores = realness.score(images, data.labels[rows])
            return images[np.argpartition(-scores, batch - 1)[:batch]]

        return following


def real_images(data: Dataset, batch: int) -> Callable[[], ByteImages]:
    """Gives a batch of the data, always the same one."""
    images = data.images[np.random.default_rng(0).integers(len(data.images), size=batch)]
    return lambda: images


def bare(
    models: tuple[Classifier, Classifier], following: Callable[[], ByteImages], *, batch: int, evaluations: int
) -> float:
    """Images per second of the loop alone, after a batch that warms up."""
    done, start = -batch, perf_counter()
    while done < evaluations:
        floats = to_floats(following())
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


def told(loops: dict[str, float], speed: float) -> str:
    """The loops of a round, and how fast a search is beside them."""
    return ", ".join(f"{name} {loop:,.0f}/s ({speed / loop:.3f})" for name, loop in loops.items())


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
    size = {"batch": arguments.batch, "evaluations": arguments.evaluations}
    ratios: dict[str, list[float]] = {"models": [], "whole": []}
    for turn in range(arguments.rounds):
        loops = {"models": bare(models, real_images(data, arguments.batch), **size)}
        with tempfile.TemporaryDirectory() as folder:
            made = searched(arguments, part, Path(folder) / "run")
            speed = made.summary["evaluations_per_second"]
            if arguments.strategy in OPERATORS:
                source = Source.of(arguments.strategy, made)
                loops["whole"] = bare(models, source.batches(part, arguments.batch, arguments.discriminator), **size)
            for name, loop in loops.items():
                ratios[name].append(speed / loop)
            shares = {name: f"{share:.0%}" for name, share in made.summary["time_share"].items() if share >= 0.005}
            print(f"search {speed:,.0f}/s, {told(loops, speed)}, {shares}", flush=True)
            if not turn:
                print(f"{arguments.strategy}, {made.summary['evaluations']:,} images: {finds(judge, made)}", flush=True)
    print("; ".join(f"{name}: ratio {median(each):.3f}" for name, each in ratios.items() if each))


if __name__ == "__main__":
    main()
