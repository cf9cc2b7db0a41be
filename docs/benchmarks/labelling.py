"""How fast the labelling page answers, over HTTP, with a large archive.

    python docs/benchmarks/labelling.py [--count 100000] [--rounds 300]

The archive has 10 classes and 28x28 images of moving blobs, labels of a judge on all and of a person on a fifth. The
page runs as a user starts it, in a process of its own; one client asks as a browser does, over one connection. The
last figures are of the same requests while another process adds triggers, as a search does.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path

import httpx
import numpy as np

from diffgan.archive import Archive, TriggerBatch
from diffgan.images import ImageSpec

SIDE, CLASSES, BATCH = 28, 10, 512
PERSON = "ann"


def batch(numbers: np.ndarray, seed: int) -> TriggerBatch:
    """Triggers whose blobs stand where their labels put them, more or less."""
    rng = np.random.default_rng((seed, int(numbers[0])))
    count = len(numbers)
    label_a = rng.integers(0, CLASSES, count)
    label_b = (label_a + rng.integers(1, CLASSES, count)) % CLASSES
    middle = np.stack([label_a, label_b], axis=1) * 2.2 + 4 + rng.normal(0, 2, (count, 2))
    rows, columns = np.mgrid[:SIDE, :SIDE]
    away = (rows - middle[:, :1, None]) ** 2 + (columns - middle[:, 1:, None]) ** 2
    bright = np.exp(-away / rng.uniform(8, 40, (count, 1, 1))) + rng.normal(0, 0.04, (count, SIDE, SIDE))
    return TriggerBatch(
        images=(np.clip(bright, 0, 1) * 255).astype(np.uint8)[..., None],
        outputs_a=rng.random((count, CLASSES), dtype=np.float32),
        outputs_b=rng.random((count, CLASSES), dtype=np.float32),
        label_a=label_a,
        label_b=label_b,
        divergence=rng.random(count),
        evaluation=numbers,
        generation=numbers // 1000,
        seconds=numbers / 1000,
        queries_a=numbers,
        queries_b=numbers,
        latents=rng.random((count, 100), dtype=np.float32),
    )


def build(folder: Path, count: int) -> None:
    """The archive, with labels."""
    folder.mkdir()
    with Archive.create(folder / "archive.db", ImageSpec(1, SIDE, SIDE), [str(number) for number in range(10)]) as made:
        for start in range(0, count, BATCH):
            made.add(batch(np.arange(start, min(start + BATCH, count)), seed=0))
        ids = made.column("ids")
        made.labels.write("judge:benchmark", ids, [int(number) % CLASSES for number in ids])
        made.labels.write(PERSON, ids[::5], [int(number) % CLASSES for number in ids[::5]])


def keep_adding(path: Path, first: int) -> None:
    """Adds triggers until it is ended."""
    with Archive.open(path) as archive:
        for start in range(first, 10**9, BATCH):
            archive.add(batch(np.arange(start, start + BATCH), seed=1), {"state": bytes(100_000)})
            time.sleep(0.2)


@contextmanager
def page(folder: Path) -> Iterator[tuple[str, float]]:
    """The page's address, and after how many seconds it was there."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "diffgan", "label", str(folder), "--no-browser", "--port", "0"]
    process = subprocess.Popen([*command, "--annotator", PERSON], stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found is not None
        yield found[0], time.perf_counter() - began
    finally:
        process.terminate()
        process.wait()


def requests(client: httpx.Client, clusters: int) -> dict[str, Callable[[int], httpx.Response]]:
    """What the page asks, by what a person does; each takes the number of the round."""
    me = {"annotator": PERSON}
    upcoming: list[str] = []

    def following(turn: int) -> httpx.Response:
        order = ("spread", "clusters", "random")[turn % 3]
        answer = client.get("/api/next", params={**me, "order": order, "cluster": turn * 7 % clusters})
        upcoming[:] = [item["id"] for item in answer.json()["items"]]
        return answer

    return {
        "the next 24": following,
        "a label": lambda turn: client.post("/api/labels", json={**me, "ids": upcoming[:1], "label": turn % CLASSES}),
        "a skip": lambda _: client.post("/api/skip", json={**me, "id": upcoming[1]}),
        "undo": lambda _: client.post("/api/undo", json=me),
        "an image": lambda turn: client.get(f"/images/{upcoming[turn % len(upcoming)]}.png"),
        "a cluster": lambda turn: client.get(f"/api/clusters/{turn * 11 % clusters}", params=me),
        "60 clusters": lambda turn: client.get("/api/clusters", params={**me, "start": turn * 13 % clusters}),
        "the next cluster": lambda turn: client.get(
            "/api/neighbour", params={**me, "cluster": turn * 17 % clusters, "forward": True}
        ),
        "the page": lambda _: client.get("/"),
        "the run": lambda _: client.get("/api/run"),
    }


def measure(address: str, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every request."""
    with httpx.Client(base_url=address, timeout=60) as client:
        clusters = client.get("/api/clusters", params={"annotator": PERSON}).json()["total"]
        kinds = requests(client, clusters)
        times: dict[str, list[float]] = {name: [] for name in kinds}
        for turn in range(rounds):
            for name, ask in kinds.items():
                began = time.perf_counter()
                answer = ask(turn)
                times[name].append(1000 * (time.perf_counter() - began))
                answer.raise_for_status()
    return times


def report(title: str, times: dict[str, list[float]]) -> None:
    """A table of milliseconds."""
    print(f"\n{title:<28}{'median':>8}{'95 %':>8}{'worst':>8}")
    everything = [one for some in times.values() for one in some]
    for name, some in [*times.items(), ("all", everything)]:
        print(f"{name:<28}{np.median(some):>8.1f}{np.quantile(some, 0.95):>8.1f}{max(some):>8.1f}")


def main() -> None:
    """Prints the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=300)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "run"
        build(folder, given.count)
        with page(folder) as (address, seconds):
            print(f"{given.count:,} triggers; from the command to the page: {seconds:.1f} s")
            report("milliseconds", measure(address, given.rounds))
            search = get_context("spawn").Process(target=keep_adding, args=(folder / "archive.db", given.count))
            search.start()
            try:
                report("while a search writes", measure(address, given.rounds))
            finally:
                search.terminate()
                search.join()


if __name__ == "__main__":
    main()
