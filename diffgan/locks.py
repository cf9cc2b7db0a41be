"""Locks on files, which die with their holder: what several processes need to share a folder or a machine."""

from __future__ import annotations

import errno
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import IO

#: The locked byte lies far behind whatever the file says, which others have to be able to read on every system.
_BYTE = 1 << 20
#: Seconds between two looks at a lock, on a system that waits for ten of them at most.
_PAUSE = 0.2


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Holds a file's lock, and waits for it; where the holder is killed, the system frees it.

    Raises:
        OSError: the file cannot be made, or its file system knows no locks.
    """
    with path.open("a+b") as file:
        _lock(file)
        try:
            yield
        finally:
            unlock(file)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock of a file that is there.

    Raises:
        OSError: it cannot be opened, or its file system knows no locks.
    """
    with path.open("r+b") as file:
        if not try_lock(file):
            return True
        unlock(file)
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        while not try_lock(file):
            sleep(_PAUSE)

    def try_lock(file: IO[bytes]) -> bool:
        """Takes the lock of an open file; False where another process holds it. OSError where there are no locks."""
        file.seek(_BYTE)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno == errno.EACCES:
                return False
            raise
        return True

    def unlock(file: IO[bytes]) -> None:
        """Frees what `try_lock` took."""
        file.seek(_BYTE)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def try_lock(file: IO[bytes]) -> bool:
        """Takes the lock of an open file; False where another process holds it. OSError where there are no locks."""
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def unlock(file: IO[bytes]) -> None:
        """Frees what `try_lock` took."""
        fcntl.flock(file, fcntl.LOCK_UN)
