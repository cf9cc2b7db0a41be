"""The process that finds clusters beside the search: `python -m diffgan.search.refit_worker`.

It reads orders from standard input and answers on standard output, a line of JSON each; the images follow an order's
line as plain bytes. It ends when its input does, so that it outlives nobody, and leaves Ctrl-C to its parent.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import threading
from dataclasses import asdict
from typing import IO, Any

import numpy as np

from diffgan.images import ByteImages
from diffgan.search.clusters import ClusterSettings, find_representatives


def compile_fit() -> None:
    """Imports and compiles all that a fit needs, on images that mean nothing."""
    rng = np.random.default_rng(0)
    blobs = np.repeat(rng.integers(0, 256, (4, 1, 64)), 30, axis=1) + rng.integers(-20, 20, (4, 30, 64))
    images = np.clip(blobs, 0, 255).astype(np.uint8).reshape(120, 8, 8, 1)
    find_representatives(images, seed=0, settings=ClusterSettings(epochs=2))


def write_order(file: IO[bytes], ticket: int, images: ByteImages, seed: int, settings: ClusterSettings) -> None:
    """Sends one order."""
    head = {"ticket": ticket, "shape": images.shape, "seed": seed, "settings": asdict(settings)}
    file.write(json.dumps(head).encode() + b"\n")
    file.write(np.ascontiguousarray(images).data)
    file.flush()


def main() -> None:
    """Serves orders until the input ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    orders: queue.SimpleQueue[tuple[dict[str, Any], ByteImages]] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.buffer, orders), daemon=True).start()
    # The search waits for this, so it steps back only then: on a busy machine, compiling might take for ever.
    compile_fit()
    _step_back()
    _answer(answers, {"ready": True})
    while True:
        head, images = orders.get()
        places = find_representatives(images, seed=head["seed"], settings=ClusterSettings(**head["settings"]))
        _answer(answers, {"ticket": head["ticket"], "places": places.tolist()})


def _step_back() -> None:
    """Takes only what the search leaves of the processor: its threads wait for one another, so one that is held up
    holds up all of them. While the search waits for the fit, there is nothing to step back from.
    """
    if sys.platform != "win32":
        os.nice(10)


def _read(file: IO[bytes], orders: queue.SimpleQueue[tuple[dict[str, Any], ByteImages]]) -> None:
    """Takes orders in while a fit runs, so that the end of the input ends the process at once."""
    while line := file.readline():
        head = json.loads(line)
        size = int(np.prod(head["shape"]))
        data = file.read(size)
        if len(data) < size:
            break
        orders.put((head, np.frombuffer(data, dtype=np.uint8).reshape(head["shape"])))
    os._exit(0)


def _answer(file: IO[bytes], answer: dict[str, Any]) -> None:
    try:
        file.write(json.dumps(answer).encode() + b"\n")
        file.flush()
    except BrokenPipeError:
        os._exit(0)


if __name__ == "__main__":
    main()
