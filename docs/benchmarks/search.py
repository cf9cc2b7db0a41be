"""What a search costs beside its bare loop, whether it stays as fast, and what it finds.

    python docs/benchmarks/search.py overhead A B --generator G --data DATA [--seconds 10] [--rounds 3] [--batch 1024]
        [--screen 1]
    python docs/benchmarks/search.py flat A B --generator G --data DATA [--triggers 200000]
    python docs/benchmarks/search.py finds A B --generator G... --data DATA --judge MODEL... [--seconds 60] [--seeds 1]
        [--strategies random nsga2] [--populations 512]

`overhead`: images per second of generator → A → B alone, with models as their runtime answers a whole batch and as
diffgan asks them, in parts, and of `compare`, in turn. `flat`: speed and memory by
quarters of the evaluations. `finds`: DV of strategies, in turn.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

from diffgan.datasets import load_dataset
from diffgan.features.judge import Judge
from diffgan.generators.generator import load_generator
from diffgan.images import FloatImages, to_floats
from diffgan.models import load_classifier
from diffgan.models.onnx import open_session
from diffgan.models.options import ModelOptions
from diffgan.models.pairs import load_pair
from diffgan.pipeline import Comparison, compare
from diffgan.search.loop import Moment, Search
from diffgan.search.strategies.protocol import DEFAULT_BATCH
from diffgan.watching import Silent


def plain(path: str) -> Callable[[FloatImages], object]:
    """An ONNX model that is asked for a whole batch at once, on all cores; ONNX Runtime as it is used by itself."""
    session = open_session(Path(path), ModelOptions())
    name = session.get_inputs()[0].name
    return lambda images: session.run(None, {name: images})


def bare(arguments: argparse.Namespace, *, parted: bool) -> float:
    """Images per second of the loop alone; with models as diffgan asks them, in parts, or as their runtime does."""
    seconds, batch = arguments.seconds, arguments.batch
    generator = load_generator(arguments.generator[0])
    sources = arguments.a, arguments.b
    if not parted and all(source.endswith(".onnx") for source in sources):
        models = [plain(source) for source in sources]
    else:
        models = [model.predict for model in load_pair(*sources, spec=load_dataset(arguments.data).spec)]
    rng, done = np.random.default_rng(0), 0
    start = perf_counter()
    while perf_counter() - start < seconds + 1:
        if not done and perf_counter() - start > 1:  # the first second warms up
            start, done = perf_counter() - 1, 0
        images = to_floats(generator.sample(batch, rng)[0])
        for model in models:
            model(images)
        done += batch if perf_counter() - start > 1 else 0
    return done / seconds


def searched(
    a: str,
    b: str,
    generator: str,
    data: str,
    *,
    strategy: str = "nsga2",
    seed: int = 0,
    batch: int = DEFAULT_BATCH,
    use: Callable[[Comparison], None] = lambda _: None,
    watcher: Silent | None = None,
    settings: dict[str, int] | None = None,
    **limits: float,
) -> Comparison:
    """A run in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        made = compare(
            a,
            b,
            data=data,
            generator=generator,
            out=Path(folder) / "run",
            strategy=strategy,
            seed=seed,
            batch=batch,
            filters=False,
            report=False,
            watcher=watcher,
            settings=settings or {},
            **limits,
        )
        use(made)
        return made


def overhead(arguments: argparse.Namespace) -> None:
    """Ratios of rounds, in which both take turns."""
    ratios, of_parted, parts = [], [], []
    for seed in range(arguments.rounds):
        loop, quicker = bare(arguments, parted=False), bare(arguments, parted=True)
        summary = searched(
            arguments.a,
            arguments.b,
            arguments.generator[0],
            arguments.data,
            strategy=arguments.strategy,
            seed=seed,
            batch=arguments.batch,
            budget=arguments.seconds,
            settings={"screen": arguments.screen} if arguments.screen else {},
        ).summary
        ratios.append(summary["evaluations_per_second"] / loop)
        of_parted.append(summary["evaluations_per_second"] / quicker)
        parts.append(summary["time_share"])
        rate, seconds = summary["evaluations_per_second"], summary["seconds"]
        print(
            f"bare {loop:,.0f}/s, in parts {quicker:,.0f}/s, search {rate:,.0f}/s, ratios {ratios[-1]:.3f} and "
            f"{of_parted[-1]:.3f}, {summary['unique']:,} unique triggers, {seconds:.2f} s, "
            f"{summary['search'].get('made', 0) / seconds / loop:.3f} images made for each of the bare loop"
        )
    shares = {name: f"{median(part[name] for part in parts):.1%}" for name in parts[0]}
    print(f"ratios {median(ratios):.3f} and {median(of_parted):.3f}; time: {shares}")


class Quarters(Silent):
    """Remembers evaluations, seconds, triggers and memory as a search goes."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, float, int, float]] = []

    @contextmanager
    def searching(self, search: Search, classes: tuple[str, ...]) -> Iterator[Callable[[Moment], None]]:
        """See `Watcher`."""
        del search, classes

        def watch(moment: Moment) -> None:
            spent = moment.spent
            self.seen.append((spent.evaluations, spent.seconds, spent.unique, resident()))

        yield watch


def resident() -> float:
    """MiB of this process that are in memory (Linux)."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096 / 2**20


def flat(arguments: argparse.Namespace) -> None:
    """Speed by quarters."""
    watcher = Quarters()
    searched(
        arguments.a,
        arguments.b,
        arguments.generator[0],
        arguments.data,
        strategy=arguments.strategy,
        watcher=watcher,
        settings={"screen": arguments.screen} if arguments.screen else {},
        triggers=arguments.triggers,
    )
    seen = np.array(watcher.seen)
    ends = np.searchsorted(seen[:, 0], seen[-1, 0] * np.arange(5) / 4)
    for first, last in zip(ends[:-1], np.minimum(ends[1:], len(seen) - 1), strict=True):
        done = seen[last] - seen[first]
        print(
            f"to {seen[last, 0]:9,.0f} images, {seen[last, 2]:8,.0f} triggers: {done[0] / done[1]:8,.0f} images/s, "
            f"{seen[last, 3]:,.0f} MiB"
        )


def finds(arguments: argparse.Namespace) -> None:
    """DV after some seconds, by strategy."""
    judge = Judge.calibrate(
        [
            load_classifier(
                path,
                spec=load_dataset(arguments.data).spec,
                options={"features_name": "features"} if not place else None,
            )
            for place, path in enumerate(arguments.judge)
        ],
        load_dataset(arguments.data).images,
    )
    for generator in arguments.generator:
        for seed in range(arguments.seeds):
            for strategy, population in product(arguments.strategies, arguments.populations):

                def show(made: Comparison, generator: str = generator, population: int = population) -> None:
                    summary = made.summary
                    with made.archive() as archive:
                        columns = [archive.column(name) for name in ("images", "label_a", "label_b")]
                    measured = judge.measure(columns[0], columns[1], columns[2]).yardstick
                    name = f"{summary['strategy']} {population or ''}".strip()
                    print(
                        f"{Path(generator).stem}, {name}, seed {summary['seed']}: {summary['evaluations']:,} images, "
                        f"{measured}",
                        flush=True,
                    )

                searched(
                    arguments.a,
                    arguments.b,
                    generator,
                    arguments.data,
                    strategy=strategy,
                    seed=seed,
                    use=show,
                    settings={"population": population} if population else {},
                    budget=arguments.seconds,
                )


def main() -> None:
    """Prints what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("overhead", "flat", "finds"))
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--generator", nargs="+", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--strategy", default="nsga2")
    parser.add_argument("--strategies", nargs="+", default=["random", "nsga2"])
    parser.add_argument("--populations", nargs="+", type=int, default=[0])
    parser.add_argument("--judge", nargs="+", default=[])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--batch", type=int, default=DEFAULT_BATCH)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--screen", type=int, default=0, help="children made for each one shown; 0: the default")
    parser.add_argument("--triggers", type=int, default=200_000)
    arguments = parser.parse_args()
    {"overhead": overhead, "flat": flat, "finds": finds}[arguments.what](arguments)


if __name__ == "__main__":
    main()
