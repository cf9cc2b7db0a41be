"""Why ONNX Runtime's idle threads may not spin: a torch generator and two ONNX models in one loop.

    python docs/benchmarks/spinning.py GENERATOR.pt A.onnx B.onnx [--latent 64] [--seconds 5]

The generator is TorchScript, from normal latents to images of 28x28. Prints images per second of the loop under ONNX
Runtime's settings, and with A and B side by side, one thread each.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

from diffgan.system import available_cores

SETTINGS = {
    "default": {},
    "stops with each run": {"session.force_spinning_stop": "1"},
    "off": {"session.intra_op.allow_spinning": "0"},
}
BATCH = 512


def session(path: str, settings: dict[str, str], threads: int) -> Callable[[Any], Any]:
    """A model's answer function under these settings."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    for key, value in settings.items():
        options.add_session_config_entry(key, value)
    opened = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    name = opened.get_inputs()[0].name
    return lambda images: opened.run(None, {name: images})[0]


def generator(path: str, latent: int) -> Callable[[], Any]:
    """Makes a batch of images from fresh latents."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = torch.jit.load(path).eval()

    def make() -> Any:
        with torch.inference_mode():
            made = module(torch.randn(BATCH, latent)).reshape(BATCH, 1, 28, 28)
            return ((made + 1) / 2).clamp(0, 1).numpy().astype(np.float32)

    return make


def rate(step: Callable[[], None], seconds: float) -> float:
    """Images per second: the median of five pieces, after a warm-up."""
    step()
    rates = []
    for _ in range(5):
        start, rounds = perf_counter(), 0
        while perf_counter() - start < seconds / 5:
            step()
            rounds += 1
        rates.append(rounds * BATCH / (perf_counter() - start))
    return median(rates)


def main() -> None:
    """Prints one line for each setting."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("generator")
    parser.add_argument("models", nargs=2)
    parser.add_argument("--latent", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=5)
    arguments = parser.parse_args()
    make = generator(arguments.generator, arguments.latent)
    for name, settings in SETTINGS.items():
        first, second = (session(path, settings, available_cores()) for path in arguments.models)

        def in_turn(first: Callable[[Any], Any] = first, second: Callable[[Any], Any] = second) -> None:
            images = make()
            first(images)
            second(images)

        print(f"{name:24} {rate(in_turn, arguments.seconds):10,.0f}", flush=True)
        del first, second, in_turn
    pair = [session(path, {}, 1) for path in arguments.models]
    with ThreadPoolExecutor(2) as pool:

        def side_by_side() -> None:
            images = make()
            list(pool.map(lambda model: model(images), pair))

        print(f"{'side by side, 1 thread':24} {rate(side_by_side, arguments.seconds):10,.0f}")


if __name__ == "__main__":
    main()
