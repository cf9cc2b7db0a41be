"""How good and how cheap generators are: a judge's figures on samples over the full prior, and the cost of an image.

python docs/benchmarks/generators.py GENERATOR... --data DATA [--judge ORACLE.onnx... --train DATA] [--models A B]
    [--float32]

The judge's models show probabilities and features; it is calibrated on DATA. Neighbours (k = 5) are those of the first
model's features, against images of --train. The cost, with --models, is the median over rounds in which all take turns.
--float32: each generator also as it is on a processor without bfloat16: what that costs, and how far images are apart.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from time import perf_counter
from unittest.mock import patch

import numpy as np

from diffgan.datasets import Dataset, load_dataset
from diffgan.features.judge import Judge
from diffgan.gan_training.nearness import nearest_to
from diffgan.gan_training.neighbours import surroundings
from diffgan.generators.generator import Generator, load_generator
from diffgan.images import ByteImages, to_floats
from diffgan.models import load_classifier
from diffgan.stats import nearest_distances

SAMPLES, BATCH, ROUNDS, CALLS = 10_000, 512, 9, 4


def main() -> None:
    """Prints lines for what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("generators", nargs="*")
    parser.add_argument("--judge", nargs="+")
    parser.add_argument("--data", required=True)
    parser.add_argument("--train")
    parser.add_argument("--models", nargs=2)
    parser.add_argument("--float32", action="store_true")
    arguments = parser.parse_args()
    data = load_dataset(arguments.data)
    generators = [load_generator(path) for path in arguments.generators]
    if arguments.judge:
        judge_all(generators, arguments.judge, data, load_dataset(arguments.train))
    exact = [in_float32(path) for path in arguments.generators] if arguments.float32 else []
    for generator, other in zip(generators, exact, strict=False):
        tell_apart(generator, other)
    if arguments.models or exact:
        calls = {generator.name: sampling(generator) for generator in generators}
        calls |= {f"{generator.name} in float32": sampling(generator) for generator in exact}
        calls |= {path: classifying(path, data) for path in arguments.models or ()}
        for name, microseconds in costs(calls).items():
            print(f"{name}: {microseconds:.1f} µs an image")


def judge_all(generators: list[Generator], paths: list[str], data: Dataset, train: Dataset) -> None:
    """The figures of the data itself, and of each generator."""
    models = [load_classifier(path, spec=data.spec, options={"features_name": "features"}) for path in paths]
    judge = Judge.calibrate(models, data.images)
    real = train.images[np.random.default_rng(0).permutation(len(train))[:SAMPLES]]
    between = float(np.median(nearest_distances(data.images)))
    print(f"median distance of a real image to its nearest: {between:.4f} on pixels")
    describe("the data", judge, real, data.images, None)
    for generator in generators:
        images, _, classes = generator.sample(SAMPLES, np.random.default_rng(1))
        describe(generator.name, judge, real, images, classes)
        print(f"    to the nearest image of the data: {np.median(nearest_to(images, data.images)):.4f} on pixels")


def in_float32(path: str) -> Generator:
    """The generator, without bfloat16 on the way."""
    with patch("diffgan.precision.is_brisk", return_value=False):
        return load_generator(path)


def tell_apart(generator: Generator, other: Generator) -> None:
    """By how many grey levels they differ."""
    made, expected = (np.int16(one.sample(BATCH, np.random.default_rng(0))[0]) for one in (generator, other))
    levels = np.abs(made - expected)
    print(f"{generator.name}: {levels.mean():.2f} grey levels from float32 on average, {levels.max()} at most")


def classifying(path: str, data: Dataset) -> Callable[[], object]:
    """Classifies the same batch again and again."""
    classifier = load_classifier(path, spec=data.spec)
    floats = to_floats(data.images[:BATCH])
    return lambda: classifier.predict(floats)


def describe(name: str, judge: Judge, real: ByteImages, images: ByteImages, classes: object) -> None:
    """One line of figures."""
    said, features = judge.verdicts(images), judge.verdicts(real).features
    intended = "" if classes is None else f"intended {(said.label == classes).mean():.1%}, "
    lying = surroundings(features, said.features)
    shares = np.bincount(said.label, minlength=10) / len(images)
    print(
        f"{name}: valid {said.valid.mean():.1%}, {intended}precision {lying.precision:.3f}, recall {lying.recall:.3f}, "
        f"density {lying.density:.3f}, coverage {lying.coverage:.3f}, classes {shares.min():.1%} to {shares.max():.1%}",
        flush=True,
    )


def sampling(generator: Generator) -> Callable[[], object]:
    """Makes a batch of the same latents and classes again and again."""
    rng = np.random.default_rng(0)
    latents = generator.prior.sample(BATCH, generator.latent, rng)
    classes = None if generator.classes is None else rng.integers(0, generator.classes, BATCH)
    return lambda: generator.images(latents, classes)


def costs(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Microseconds an image, the median over rounds."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(ROUNDS + 1):
        for name, call in calls.items():
            start = perf_counter()
            for _ in range(CALLS):
                call()
            times[name].append((perf_counter() - start) / CALLS / BATCH * 1e6)
    return {name: float(np.median(rounds[1:])) for name, rounds in times.items()}


if __name__ == "__main__":
    main()
