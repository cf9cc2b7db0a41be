"""One bench at a time in a folder: two would take the processor from each other, and spoil each other's times."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from diffgan.errors import UsageError

FILE = "bench.lock"

#: The locked byte lies far behind the number, which others have to be able to read on every system.
_BYTE = 1 << 20


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock; where its holder is killed, the system frees it.

    Raises:
        UsageError: another process holds it.
    """
    with (folder / FILE).open("a+b") as file:
        try:
            _lock(file)
        except OSError:
            file.seek(0)
            holder = file.read(20).decode("ascii", "replace").strip() or "unknown"
            raise UsageError(
                f"Another bench (process {holder}) runs in {folder}: wait for its end, or give another --out; timed "
                "runs side by side would spoil each other's figures."
            ) from None
        try:
            file.truncate(0)
            file.write(f"{os.getpid()}\n".encode())
            file.flush()
            yield
        finally:
            file.truncate(0)
            _unlock(file)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        file.seek(_BYTE)
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)

    def _unlock(file: IO[bytes]) -> None:
        file.seek(_BYTE)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
