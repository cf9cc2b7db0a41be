"""Where clusters are found anew: in this process, or in a worker process beside the search."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from time import monotonic
from typing import IO, Any, Protocol

import numpy as np

from diffgan.images import ByteImages
from diffgan.search.clusters import ClusterSettings, Places, find_representatives
from diffgan.search.refit_worker import compile_fit, write_order

_MOST_DEATHS = 3
_ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")


class Refits(Protocol):
    """Finds representatives, one order at a time; a new order takes the place of an old one."""

    def begin(self) -> None:
        """Starts what `warm_up` waits for, without waiting."""
        ...

    def warm_up(self) -> None:
        """Imports and compiles what a fit needs, and waits for it."""
        ...

    def start(self, images: ByteImages, *, seed: int, settings: ClusterSettings) -> None:
        """Orders a fit."""
        ...

    def result(self, *, within: float | None = None) -> Places | None:
        """The places of the representatives in the ordered images.

        Args:
            within: seconds to wait for them; None: as long as it takes.

        Returns:
            None where they are not there in time; they can be asked for again.
        """
        ...

    def close(self) -> None:
        """Ends what runs in the background."""
        ...


class RefitsHere:
    """Fits in this process, when the result is asked for."""

    def __init__(self) -> None:
        self._order: tuple[ByteImages, int, ClusterSettings] | None = None

    def begin(self) -> None:
        """See `Refits`."""

    def warm_up(self) -> None:
        """See `Refits`."""
        compile_fit()

    def start(self, images: ByteImages, *, seed: int, settings: ClusterSettings) -> None:
        """See `Refits`."""
        self._order = (images, seed, settings)

    def result(self, *, within: float | None = None) -> Places | None:
        """See `Refits`; a fit that has begun is not broken off."""
        if within is not None and within <= 0:
            return None
        if self._order is None:
            raise RuntimeError("result() needs start() before it.")
        images, seed, settings = self._order
        places = find_representatives(images, seed=seed, settings=settings)
        self._order = None  # after the fit: one that Ctrl-C ended is still ordered
        return places

    def close(self) -> None:
        """See `Refits`."""


class RefitsInWorker:
    """Fits in a process of its own, so that neither Python's lock nor a batch waits for them.

    Where the worker dies, the fit is made in this process, with the same result, and the next order starts another
    worker; after three deaths all fits are made here.
    """

    def __init__(self) -> None:
        self._here = RefitsHere()
        self._worker: _Worker | None = None
        self._ticket = 0
        self.deaths = 0

    @property
    def process_id(self) -> int | None:
        """The worker's, while there is one."""
        return None if self._worker is None else self._worker.process.pid

    def begin(self) -> None:
        """See `Refits`."""
        if self._worker is None and self.deaths < _MOST_DEATHS:
            try:
                self._worker = _Worker()
            except OSError:
                self.deaths = _MOST_DEATHS  # this system gives us no process

    def warm_up(self) -> None:
        """See `Refits`."""
        self.begin()
        if self._worker is None or not self._worker.ready():
            self._bury()
            self._here.warm_up()

    def start(self, images: ByteImages, *, seed: int, settings: ClusterSettings) -> None:
        """See `Refits`."""
        self._ticket += 1
        self._here.start(images, seed=seed, settings=settings)  # should the worker die
        self.begin()
        if self._worker is not None and not self._worker.order(self._ticket, images, seed, settings):
            self._bury()

    def result(self, *, within: float | None = None) -> Places | None:
        """See `Refits`."""
        if self._worker is not None:
            try:
                places = self._worker.places(self._ticket, within)
            except TimeoutError:
                return None
            if places is not None:
                return places
            self._bury()
        return self._here.result(within=within)

    def close(self) -> None:
        """See `Refits`."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def _bury(self) -> None:
        if self._worker is not None:
            self.deaths += 1
            self.close()


class _Worker:
    """The process, and the pipes to it; it is killed when this object or the program ends."""

    def __init__(self) -> None:
        paths = [str(Path(path).absolute()) for path in sys.path]
        self.process = subprocess.Popen(
            [sys.executable or "python", "-P", "-m", "diffgan.search.refit_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=os.environ | _ONE_THREAD | {"PYTHONPATH": os.pathsep.join(paths)},
            process_group=0,  # Ctrl-C is for the parent; not a session, in which a low priority would mean nothing
        )
        self._ready = False
        #: What it says, line by line; an empty one when it is dead. A thread reads, so that waiting can have an end.
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        reader = threading.Thread(target=_read, args=(_pipe(self.process.stdout), self._lines), daemon=True)
        reader.start()
        self.end = weakref.finalize(self, _end, self.process, reader)

    def order(self, ticket: int, images: ByteImages, seed: int, settings: ClusterSettings) -> bool:
        """Sends an order; False where the worker is dead."""
        try:
            write_order(_pipe(self.process.stdin), ticket, images, seed, settings)
        except OSError:
            return False
        return True

    def ready(self) -> bool:
        """Waits until all is compiled; False where the worker is dead."""
        if not self._ready:
            self._ready = self._answer() is not None
        return self._ready

    def places(self, ticket: int, within: float | None) -> Places | None:
        """Waits for the answer to this order, and drops those to orders before it; None where the worker is dead.

        Raises:
            TimeoutError: it did not come within so many seconds.
        """
        ends = None if within is None else monotonic() + within
        while (answer := self._answer(ends)) is not None:
            if "ready" in answer:
                self._ready = True
            elif answer["ticket"] == ticket:
                return np.array(answer["places"], dtype=np.int64)
        return None

    def _answer(self, ends: float | None = None) -> dict[str, Any] | None:
        try:
            line = self._lines.get(timeout=None if ends is None else max(0.0, ends - monotonic()))
        except queue.Empty:
            raise TimeoutError from None
        if not line.endswith(b"\n"):
            self._lines.put(line)  # dead for whoever asks next, too
            return None
        answer: dict[str, Any] = json.loads(line)
        return answer


def _read(pipe: IO[bytes], lines: queue.SimpleQueue[bytes]) -> None:
    while (line := pipe.readline()).endswith(b"\n"):
        lines.put(line)
    lines.put(b"")


def _end(process: subprocess.Popen[bytes], reader: threading.Thread) -> None:
    """The worker holds nothing worth keeping."""
    process.kill()
    process.wait()
    reader.join()  # the death of the worker ends what it reads
    for pipe in (process.stdin, process.stdout):
        try:
            _pipe(pipe).close()
        except OSError:
            continue  # what was not sent is lost with the worker


def _pipe(file: IO[bytes] | None) -> IO[bytes]:
    if file is None:
        raise RuntimeError("The worker has no pipes.")
    return file
