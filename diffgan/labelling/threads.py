"""An archive is for one thread: here, for a thread of its own, and the others ask it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from diffgan.archive import Archive

Answer = TypeVar("Answer")


class ArchiveThread:
    """An archive that is open in a thread of its own; what is asked of it is done in turn.

    Args:
        path: of the archive.
        read_only: whether nothing is written through it.

    Raises:
        ArchiveError: the archive cannot be opened.
    """

    def __init__(self, path: Path, *, read_only: bool) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix="archive")
        try:
            self._archive = self._executor.submit(Archive.open, path, read_only=read_only).result()
        except BaseException:
            self._executor.shutdown()
            raise

    def ask(self, work: Callable[[Archive], Answer]) -> Future[Answer]:
        """Has work done with the archive."""
        return self._executor.submit(work, self._archive)

    def close(self) -> None:
        """Finishes what was asked, and closes the archive."""
        self._executor.submit(self._archive.close)
        self._executor.shutdown()
