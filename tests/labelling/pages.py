"""Triggers to label, and the page as it is served."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import httpx
import numpy as np

from diffgan.archive import Archive, TriggerBatch
from diffgan.images import ImageSpec
from diffgan.labelling.app import create_app
from diffgan.labelling.cover import cover_of
from diffgan.labelling.office import Office
from diffgan.labelling.serving import Place, open_place, server_of

SIDE = 8
DIGITS = tuple(str(number) for number in range(10))

MakeRun = Callable[..., Path]


def make_batch(first: int, count: int, *, classes: int = 10, labelled: bool = True, cells: int = 5) -> TriggerBatch:
    """Triggers number `first` and on; A says their number modulo `cells`, B the next class."""
    numbers = np.arange(first, first + count)
    images = np.random.default_rng(first).integers(0, 256, (count, SIDE, SIDE, 1), dtype=np.uint8)
    images[:, 0, 0, 0], images[:, 0, 1, 0] = numbers % 256, numbers // 256
    label_a = numbers % min(cells, classes)
    label_b = (label_a + 1) % classes
    outputs = np.full((count, classes), 0.4 / (classes - 1), dtype=np.float32)
    outputs_a, outputs_b = outputs.copy(), outputs.copy()
    outputs_a[np.arange(count), label_a] = outputs_b[np.arange(count), label_b] = 0.6
    return TriggerBatch(
        images=images,
        outputs_a=outputs_a,
        outputs_b=outputs_b,
        label_a=label_a if labelled else None,
        label_b=label_b if labelled else None,
        divergence=numbers / 7,
        evaluation=numbers,
        generation=numbers,
        seconds=numbers / 100,
        queries_a=numbers,
        queries_b=numbers,
    )


def write_run(
    folder: Path, count: int, *, names: Sequence[str] | None = DIGITS, labelled: bool = True, cells: int = 5
) -> None:
    """The folder of a run with so many triggers."""
    folder.mkdir()
    with Archive.create(folder / "archive.db", ImageSpec(1, SIDE, SIDE), names) as archive:
        if count:
            classes = len(names or DIGITS)
            archive.add(make_batch(0, count, classes=classes, labelled=labelled, cells=cells))


def reject(run: Path, numbers: Sequence[int]) -> None:
    """A filter rejects the triggers with these places in the order of discovery, from 0."""
    with Archive.open(run / "archive.db") as archive:
        ids = archive.column("ids")
        passed = np.ones(len(ids), dtype=np.bool_)
        passed[list(numbers)] = False
        archive.verdicts.write("test", ids, passed=passed)


def labels_of(run: Path, annotator: str) -> dict[str, int | None]:
    """What is in the archive, by the trigger's id."""
    with Archive.open(run / "archive.db", read_only=True) as archive:
        read = archive.labels.read(annotator)
        return {f"{int(one) & (1 << 64) - 1:016x}": label for one, label in zip(read.ids, read.classes, strict=True)}


@contextmanager
def served(office: Office, place: Place, run: Path, *, everything: bool = False) -> Iterator[str]:
    """The page's address, while it is served by a thread."""
    app = create_app(
        office, cover_of(run, annotator="ann", everything=everything, shared=bool(place.rules.token)), place.rules
    )
    server = server_of(app)
    thread = Thread(target=server.run, kwargs={"sockets": [place.listening]})
    thread.start()
    try:
        yield place.address
    finally:
        server.should_exit = server.force_exit = True  # no answer is on its way
        thread.join()


@contextmanager
def page_of(run: Path, *, host: str = "127.0.0.1", port: int = 0, everything: bool = False) -> Iterator[str]:
    """The address of a run's page."""
    place = open_place(host, port)
    with (
        place.listening,
        Office(run / "archive.db", everything=everything, look_seconds=0) as office,
        served(office, place, run, everything=everything) as address,
    ):
        yield address


class Page:
    """What a browser asks of the page."""

    def __init__(self, client: httpx.Client, annotator: str = "ann") -> None:
        self.client = client
        self.annotator = annotator

    def get(self, path: str, **parameters: str | int) -> dict[str, object]:
        answer = self.client.get(path, params={"annotator": self.annotator, **parameters})
        assert answer.status_code == 200, answer.text
        content: dict[str, object] = answer.json()
        return content

    def post(self, path: str, **body: object) -> httpx.Response:
        return self.client.post(path, json={"annotator": self.annotator, **body})

    def following(self, **parameters: str | int) -> list[str]:
        items = self.get("/api/next", **parameters)["items"]
        assert isinstance(items, list)
        return [item["id"] for item in items]

    def label(self, ids: Sequence[str], label: int | str) -> httpx.Response:
        return self.post("/api/labels", ids=list(ids), label=label)
