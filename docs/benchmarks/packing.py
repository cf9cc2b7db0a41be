"""Strategies where there is no judge: unique triggers, cells, and how many of the triggers are distinct.

    python docs/benchmarks/packing.py A B --data DATA --generator G --weights VGG16.pth [--seconds 30] [--seeds 3]
        [--strategies nsga2 random drfuzz-free]

Distinct are those of a greedy packing in order of discovery: farther from each one before than a real image is from the
next one, the median, on pixels; on features of VGG16; and on both. Nobody has looked whether they are valid. The models
may have a sidecar; strategies take turns, seed by seed, and the last lines are the medians.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np

from diffgan.datasets import Dataset, load_dataset
from diffgan.features.vgg16 import Vgg16, open_vgg16
from diffgan.pipeline import Comparison, compare
from diffgan.search.strategies.registry import needs_generator
from diffgan.stats import median_nearest_distance
from diffgan.stats.packing import Space, greedy_packing

COLUMNS = ("images", "unique triggers", "cells", "on pixels", "on VGG16", "on both")


class Spaces:
    """Pixels and features, with what is usual between real images."""

    def __init__(self, data: Dataset, extractor: Vgg16) -> None:
        self._extractor = extractor
        self._usual = (median_nearest_distance(data.images), median_nearest_distance(extractor.features(data.images)))

    def distinct(self, made: Comparison) -> dict[str, float]:
        """Figures of a run."""
        with made.archive() as archive:
            images, label_a, label_b = (archive.column(name) for name in ("images", "label_a", "label_b"))
        spaces = [Space(images, self._usual[0]), Space(self._extractor.features(images), self._usual[1])]
        return {
            "unique triggers": len(images),
            "cells": len(set(zip(label_a.tolist(), label_b.tolist(), strict=True))),
            "on pixels": len(greedy_packing(spaces[:1])),
            "on VGG16": len(greedy_packing(spaces[1:])),
            "on both": len(greedy_packing(spaces)),
        }


def main() -> None:
    """Prints a line a run, and the medians."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("a")
    parser.add_argument("b")
    parser.add_argument("--data", required=True)
    parser.add_argument("--generator", required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--strategies", nargs="+", default=["nsga2", "random", "drfuzz-free"])
    arguments = parser.parse_args()
    data = load_dataset(arguments.data)
    spaces = Spaces(data, open_vgg16(arguments.weights))
    found: dict[str, list[dict[str, float]]] = defaultdict(list)
    for seed in range(arguments.seeds):
        for strategy in arguments.strategies:
            with tempfile.TemporaryDirectory() as folder:
                made = compare(
                    arguments.a,
                    arguments.b,
                    data=data,
                    generator=arguments.generator if needs_generator(strategy) else None,
                    strategy=strategy,
                    seed=seed,
                    budget=arguments.seconds,
                    filters=False,
                    report=False,
                    out=Path(folder) / "run",
                )
                figures = {"images": made.summary["evaluations"], **spaces.distinct(made)}
            found[strategy].append(figures)
            print(line(f"{strategy}, seed {seed}", figures), flush=True)
    for strategy, rows in found.items():
        print(line(f"{strategy}, median", {name: float(np.median([row[name] for row in rows])) for name in COLUMNS}))


def line(title: str, figures: dict[str, float]) -> str:
    """One line of figures."""
    return f"{title}: " + ", ".join(f"{figures[name]:,.0f} {name}" for name in COLUMNS)


if __name__ == "__main__":
    main()
