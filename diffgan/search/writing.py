"""Writes to the archive beside the next batch, which neither Python's lock nor the disk holds up then."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class Writer:
    """One write at a time, in a thread; who touches the archive otherwise waits for it first."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="archive")
        self._pending: Future[object] | None = None

    def write(self, write: Callable[[], object]) -> None:
        """Starts a write, after the one before it.

        Raises:
            ArchiveError: the one before it failed.
        """
        self.wait()
        self._pending = self._thread.submit(write)

    def wait(self) -> None:
        """Until what was started is done.

        Raises:
            ArchiveError: it failed.
        """
        if self._pending is not None:
            # It is forgotten only when it is done: Ctrl-C may break off the waiting.
            pending = self._pending
            pending.exception()
            self._pending = None
            pending.result()

    def close(self) -> None:
        """Waits, and ends the thread.

        Raises:
            ArchiveError: the last write failed.
        """
        self._thread.shutdown()
        self.wait()
