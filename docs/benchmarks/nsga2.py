"""What NSGA-II costs an individual beside the models: each step alone, and pymoo's own step on the same sizes.

python docs/benchmarks/nsga2.py [--population 512] [--genes 100] [--pymoo]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter

import numpy as np

from diffgan.search.collapse import CollapseMeter, balanced
from diffgan.search.strategies.operators import crossed, mutated
from diffgan.search.strategies.population import fingerprints
from diffgan.search.strategies.survival import best_first, crowding_distances, front_ranks, tournament

_REPEATS = 50
_BOUNDS = (-1.0, 1.0)


def main() -> None:
    """Prints a line for each step: the median of many, in microseconds an individual."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--population", type=int, default=512)
    parser.add_argument("--genes", type=int, default=100)
    parser.add_argument("--pymoo", action="store_true", help="pymoo's own step, too")
    arguments = parser.parse_args()
    size, genes = arguments.population, arguments.genes
    total = 0.0
    for name, step in steps(size, genes).items():
        cost = median_seconds(step) / size * 1e6
        total += cost
        print(f"{name:<12} {cost:6.2f} µs")
    print(f"{'together':<12} {total:6.2f} µs")
    if arguments.pymoo:
        print(f"{'pymoo':<12} {pymoo_seconds(size, genes) / size * 1e6:6.2f} µs")


def steps(size: int, genes: int) -> dict[str, Callable[[], object]]:
    """The steps of a generation, on random individuals."""
    rng = np.random.default_rng(0)
    points = rng.uniform(*_BOUNDS, (size, genes)).astype(np.float32)
    objectives = rng.random((2 * size, 2))
    ranks = front_ranks(objectives)
    crowding = crowding_distances(objectives, ranks)
    images = rng.integers(0, 256, (size, 28, 28, 1), dtype=np.uint8)
    cells = rng.integers(0, 90, 2 * size)
    meter = CollapseMeter()
    half = size // 2
    return {
        "tournament": lambda: tournament(objectives[:size], crowding[:size], size, rng),
        "crossover": lambda: crossed(
            points[:half], points[half:], rng, bounds=_BOUNDS, rate=0.9, gene_rate=0.5, eta=15
        ),
        "mutation": lambda: mutated(points, rng, bounds=_BOUNDS, gene_rate=0.1, eta=20),
        "fronts": lambda: front_ranks(objectives),
        "crowding": lambda: crowding_distances(objectives, ranks),
        "order": lambda: best_first(ranks, crowding, rng),
        "cells": lambda: balanced(cells, size, size // 10),
        "collapse": lambda: meter.observe(cells[:size]),
        "duplicates": lambda: fingerprints(images),
    }


def median_seconds(step: Callable[[], object]) -> float:
    """Of many calls, after one that does not count."""
    step()
    seconds = []
    for _ in range(_REPEATS):
        start = perf_counter()
        step()
        seconds.append(perf_counter() - start)
    return float(np.median(seconds))


def pymoo_seconds(size: int, genes: int) -> float:
    """A generation of pymoo's NSGA-II by ask and tell; the median of ten."""
    from pymoo.algorithms.moo.nsga2 import NSGA2
    from pymoo.core.evaluator import Evaluator
    from pymoo.core.problem import Problem
    from pymoo.core.termination import NoTermination
    from pymoo.problems.static import StaticProblem

    problem = Problem(n_var=genes, n_obj=2, xl=_BOUNDS[0], xu=_BOUNDS[1])
    algorithm = NSGA2(pop_size=size)
    algorithm.setup(problem, termination=NoTermination(), seed=1)
    rng = np.random.default_rng(0)
    seconds = []
    for _ in range(11):
        start = perf_counter()
        asked = algorithm.ask()
        Evaluator().eval(StaticProblem(problem, F=rng.random((len(asked), 2))), asked)
        algorithm.tell(infills=asked)
        seconds.append(perf_counter() - start)
    return float(np.median(seconds[1:]))


if __name__ == "__main__":
    main()
