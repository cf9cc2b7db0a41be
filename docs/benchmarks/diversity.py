"""What diversity costs: scores, fits, and a worker beside the search.

python docs/benchmarks/diversity.py [--data mnist_test.npz] [--clusters 50]
"""

from __future__ import annotations

import argparse
import threading
from collections.abc import Callable
from statistics import median
from time import perf_counter

import numpy as np

from diffgan.datasets import load_dataset
from diffgan.images import ByteImages
from diffgan.search.clusters import FAITHFUL, ClusterSettings, find_representatives
from diffgan.search.nearest import Nearest
from diffgan.search.refit_worker import compile_fit
from diffgan.search.refits import RefitsInWorker
from diffgan.search.sample import Sample

BATCH = 512


def seconds(call: Callable[[], object], repeats: int) -> float:
    """The median of some calls."""
    times = []
    for _ in range(repeats):
        start = perf_counter()
        call()
        times.append(perf_counter() - start)
    return median(times)


def scores(images: ByteImages, clusters: int) -> None:
    """Scoring a batch, and taking it into the sample of an archive of 20,000."""
    nearest, batch = Nearest(images[:clusters]), images[-BATCH:]
    cost = seconds(lambda: nearest.distances(batch), 200) / len(batch)
    print(f"score against {clusters} representatives: {1e6 * cost:.2f} µs an image")
    sample = Sample(0, 2000)
    for start in range(0, 20_000, BATCH):
        sample.add(images[np.arange(start, start + BATCH) % len(images)])
    cost = seconds(lambda: sample.add(batch), 200) / len(batch)
    print(f"into the sample: {1e6 * cost:.2f} µs a trigger")


def fits(images: ByteImages) -> None:
    """Fits of growing samples in this process."""
    start = perf_counter()
    compile_fit()
    print(f"import and compile: {perf_counter() - start:.1f} s")
    for count in (100, 200, 400, 800, 1600, 2000):
        for name, settings in (("bounded", ClusterSettings()), ("faithful", FAITHFUL)):
            start = perf_counter()
            found = len(find_representatives(images[:count], seed=0, settings=settings))
            print(f"{name} fit of {count:5,}: {perf_counter() - start:.2f} s, {found} clusters")


def beside(images: ByteImages) -> None:
    """What a fit does to a loop of numpy beside it, from a thread and from the worker."""
    start = perf_counter()
    refits = RefitsInWorker()
    refits.warm_up()
    print(f"worker ready after {perf_counter() - start:.1f} s")
    left, settings = np.ones((BATCH, 784), dtype=np.float32), ClusterSettings()

    def rate(lasting: Callable[[], bool]) -> float:
        start, done = perf_counter(), 0
        while lasting() or done < 100:
            left @ left.T
            done += 1
        return done / (perf_counter() - start)

    end = perf_counter() + 2
    alone = rate(lambda: perf_counter() < end)

    def in_worker() -> None:
        refits.start(images[:2000], seed=0, settings=settings)
        refits.result()

    def in_thread() -> None:
        find_representatives(images[:2000], seed=0, settings=settings)

    for name, call in (("thread", in_thread), ("worker", in_worker)):
        thread = threading.Thread(target=call)
        thread.start()
        share = rate(thread.is_alive) / alone
        print(f"a fit in a {name}: the loop beside it runs at {share:.0%}")
    refits.close()


def main() -> None:
    """Prints a line for each figure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", default="digits")
    parser.add_argument("--clusters", type=int, default=50)
    arguments = parser.parse_args()
    images = load_dataset(arguments.data).images
    scores(images, arguments.clusters)
    fits(images)
    beside(images)


if __name__ == "__main__":
    main()
