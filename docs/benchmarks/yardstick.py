"""How fast distinct triggers are counted: greedy packing in two spaces, and nearest neighbours.

python docs/benchmarks/yardstick.py [--candidates 60000] [--distinct 20000]
"""

from __future__ import annotations

import argparse
from time import perf_counter

import numpy as np

from diffgan.stats import Space, greedy_packing, nearest_distances


def main() -> None:
    """Prints two lines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--candidates", type=int, default=60_000)
    parser.add_argument("--distinct", type=int, default=20_000)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    which = rng.integers(0, arguments.distinct, arguments.candidates)
    spaces = []
    for size in (784, 128):
        centres = rng.normal(size=(arguments.distinct, size)).astype(np.float32)
        near = 0.01 * rng.normal(size=(arguments.candidates, size)).astype(np.float32)
        spaces.append(Space(centres[which] + near, 0.1))
    start = perf_counter()
    taken = len(greedy_packing(spaces))
    print(f"packing: {arguments.candidates:,} candidates, {taken:,} distinct, {perf_counter() - start:.1f} s")
    images = rng.integers(0, 256, (10_000, 784), dtype=np.uint8)
    start = perf_counter()
    nearest_distances(images)
    print(f"nearest neighbours of 10,000 images of 784: {perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
