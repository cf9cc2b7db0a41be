"""How fast the most similar reference is found, and whether it is the right one: against all pairs on a sample.

python docs/benchmarks/ssim.py REFERENCES --generators G... --models A B [--count 10000] [--check 500]
python docs/benchmarks/ssim.py REFERENCES --blends DATA [--copies 6] [--count 10000] [--check 500]

Triggers are samples on which the models disagree, as many of each generator; or means of two images of DATA. References
are joined by shifted copies of themselves, where asked for. Twenty images of noise and five flat ones are checked, too.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from diffgan.datasets import load_dataset
from diffgan.filters.similarity import THRESHOLD, MostSimilar
from diffgan.filters.ssim import ssim_of_planes, to_planes
from diffgan.generators.generator import load_generator
from diffgan.images import ByteImages, to_floats
from diffgan.models import load_classifier
from diffgan.system import available_cores


def disagreements(generator: str, models: list[str], count: int, rng: np.random.Generator) -> ByteImages:
    """Samples that two models label differently."""
    source = load_generator(generator)
    first, second = (load_classifier(model) for model in models)
    found = np.empty((0, source.spec.height, source.spec.width, source.spec.channels), dtype=np.uint8)
    while len(found) < count:
        images, _, _ = source.sample(2048, rng)
        floats = to_floats(images)
        differ = first.predict(floats).argmax(axis=1) != second.predict(floats).argmax(axis=1)
        found = np.concatenate([found, images[differ]])
    return found[:count]


def blends(data: str, count: int, rng: np.random.Generator) -> ByteImages:
    """Means of two images each."""
    images = load_dataset(data).images
    one, other = (images[rng.integers(0, len(images), count)] for _ in range(2))
    return one // 2 + other // 2


def with_copies(images: ByteImages, times: int) -> ByteImages:
    """The images, and themselves moved along a row by 1, 2, ... pixels."""
    return np.concatenate([np.roll(images, shift, axis=2) for shift in range(times)])


def odd(shape: tuple[int, ...], rng: np.random.Generator) -> ByteImages:
    """Ten images of bright noise, ten of dim noise, five flat ones."""
    bright = rng.integers(0, 256, (10, *shape), dtype=np.uint8)
    dim = np.clip(rng.normal(0, 40, (10, *shape)), 0, 255).astype(np.uint8)
    flat = np.stack([np.full(shape, level, dtype=np.uint8) for level in (0, 1, 30, 128, 255)])
    return np.concatenate([bright, dim, flat])


def by_all_pairs(images: ByteImages, references: ByteImages) -> NDArray[np.float64]:
    """The greatest SSIM of each image, the long way."""
    planes, others = to_planes(images), to_planes(references)
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(available_cores()) as threads:
        return np.array(list(threads.map(lambda plane: ssim_of_planes(plane[None], others).max(), planes)))


def report(name: str, truth: NDArray[np.float64], scores: NDArray[np.float64]) -> None:
    """One line."""
    missed = truth - scores > 1e-5
    turned = (truth >= THRESHOLD) != (scores >= THRESHOLD)
    print(
        f"{name}: {len(truth)} against all pairs: {missed.sum()} missed the most similar (recall "
        f"{1 - missed.mean():.2%}), by {np.max(truth - scores):.4f} at most; {turned.sum()} verdicts differ; "
        f"{np.mean(truth >= THRESHOLD):.1%} pass"
    )


def memory(key: str) -> float:
    """Of this process, in MiB: VmRSS is what it holds, VmHWM the most that it held since `forget_peak`."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{key}:")) / 1024


def forget_peak() -> None:
    """Linux only."""
    Path("/proc/self/clear_refs").write_text("5")


def main() -> None:
    """Prints a line for each part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("references")
    parser.add_argument("--generators", nargs="+", default=[])
    parser.add_argument("--models", nargs=2)
    parser.add_argument("--blends")
    parser.add_argument("--copies", type=int, default=1)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--check", type=int, default=500)
    arguments = parser.parse_args()
    rng = np.random.default_rng(0)
    references = with_copies(load_dataset(arguments.references).images, arguments.copies)
    if arguments.blends:
        triggers = blends(arguments.blends, arguments.count, rng)
    else:
        each = -(-arguments.count // len(arguments.generators))
        triggers = np.concatenate([disagreements(name, arguments.models, each, rng) for name in arguments.generators])
    forget_peak()
    before, start = memory("VmRSS"), perf_counter()
    finder = MostSimilar(references)
    finder.find(triggers[:1])
    ready = perf_counter()
    found = finder.find(triggers)
    end = perf_counter()
    print(
        f"{len(triggers):,} triggers, {len(references):,} references of {finder.spec}, {available_cores()} cores: "
        f"{ready - start:.1f} s once for the references, {end - ready:.1f} s for the triggers, "
        f"{memory('VmHWM') - before:.0f} MiB more"
    )
    rows = np.sort(rng.permutation(len(triggers))[: arguments.check])
    report("triggers", by_all_pairs(triggers[rows], references), found.scores[rows])
    strange = odd(references.shape[1:], rng)
    report("noise and flat", by_all_pairs(strange, references), finder.find(strange).scores)


if __name__ == "__main__":
    main()
