"""Selectors that learned from the triggers of different strategies, on triggers of all of them (the paper's table 12).

    python docs/benchmarks/table12.py RUNS --pair m1-m2 --data DATA --judge ORACLE.onnx... --work DIR
        [--strategy=conditional100__nsga2 --strategy=-__drfuzz-free] [--triggers 700] [--draws 3]

RUNS are kept runs of `diffgan bench rq4-small`, three seeds of each strategy. All triggers are labelled by the judge. A
selector learns from so many valid triggers of the first two runs of one strategy, and is tested on triggers of the
third run of each on which exactly one model is right, and which are far from all that the training saw. "Together" is
the paper's test: 100 triggers of each third run; the mean of 20 drawings.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.datasets import Dataset, load_dataset
from diffgan.labels.judging import judge_triggers
from diffgan.models import load_classifier
from diffgan.selection.examples import read_examples
from diffgan.selection.nearness import Views, far_from
from diffgan.selection.selector import Chooser
from diffgan.selection.training import Wanted, train_selector

DRAWN, DRAWINGS = 100, 20
STRATEGIES = ("conditional100__nsga2", "-__drfuzz-free")

Rights = NDArray[np.bool_]


def label(run: Path, judges: list[str], data: Dataset) -> None:
    """All triggers of a run, by the judge."""
    with Archive.open(run / "archive.db") as archive:
        said = judge_triggers(archive, [load_classifier(path, spec=data.spec) for path in judges], data)
    print(f"{run.name}: {said.triggers:,} triggers, {said.valid:,} valid", flush=True)


def tested(chooser: Chooser, run: Path) -> tuple[Rights, Rights]:
    """Whether the choice is right, and whether B was, of a run's examples far from the training's."""
    examples = read_examples([run])
    limits, learned = chooser.card.limits, chooser.learned
    far = far_from(Views.of(examples.images, learned, limits), Views.of(chooser.seen, learned, limits))
    images, of_b = examples.images[far], examples.b_is_right[far]
    return (chooser.probability_of_b(images) > 0.5) == of_b, of_b


def balanced(right: Rights, of_b: Rights) -> float:
    """The mean of the two shares that are right."""
    return float(np.mean([right[of_b == is_b].mean() for is_b in (False, True)]))


def line(right: Rights, of_b: Rights) -> str:
    """One selector on one run."""
    return f"{balanced(right, of_b):.3f} balanced, {right.mean():.3f} of {len(right):,} ({of_b.mean():.0%} B)"


def together(parts: list[tuple[Rights, Rights]], rng: np.random.Generator) -> float:
    """The mean accuracy on so many of each."""
    drawn = [
        np.concatenate([rng.choice(right, min(DRAWN, len(right)), replace=False) for right, _ in parts]).mean()
        for _ in range(DRAWINGS)
    ]
    return float(np.mean(drawn))


def main() -> None:
    """Prints a line for each selector."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("--pair", required=True)
    parser.add_argument("--data", required=True)
    parser.add_argument("--judge", nargs="+", required=True)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--strategy", action="append", help="with its generator; by default the two above")
    parser.add_argument("--triggers", type=int, default=700)
    parser.add_argument("--draws", type=int, default=3)
    asked = parser.parse_args()
    asked.work.mkdir(parents=True, exist_ok=True)
    data = load_dataset(asked.data)
    runs = {
        name: [asked.runs / f"{asked.pair}__{name}__{seed}" for seed in range(3)]
        for name in asked.strategy or STRATEGIES
    }
    for three in runs.values():
        for run in three:
            label(run, asked.judge, data)
    for name, (first, second, _) in runs.items():
        for draw in range(asked.draws):
            wanted = Wanted(data=data, limit=asked.triggers, seed=draw, parts=0)
            chooser = train_selector([first, second], asked.work / f"{asked.pair}-{name}-{draw}", wanted)
            parts = {other: tested(chooser, three[2]) for other, three in runs.items()}
            shown = ", ".join(f"{other}: {line(*part)}" for other, part in parts.items())
            counts = chooser.card.counts
            print(
                f"{name}, draw {draw}, {counts.only_a} A, {counts.only_b} B: "
                f"together {together(list(parts.values()), np.random.default_rng(draw)):.3f}; {shown}",
                flush=True,
            )


if __name__ == "__main__":
    main()
