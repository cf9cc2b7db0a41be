"""What several processes need to share a folder: a lock that dies with its holder, and results that move whole."""

from __future__ import annotations

import errno
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from diffgan.drafts import replacing

CARD = "card.json"
#: What a search or a filter needs; the card goes last, so that a folder with a card is whole.
ARTIFACT = ("generator.safetensors", "discriminator.safetensors", CARD)
#: What a person looks at.
PICTURES = ("samples.png", "losses.png", "metrics.jsonl", "watch.html")


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
            _unlock(file)


def is_locked(path: Path) -> bool:
    """Whether somebody holds the lock of a file that is there.

    Raises:
        OSError: it cannot be opened, or its file system knows no locks.
    """
    with path.open("r+b") as file:
        if not _try_lock(file):
            return True
        _unlock(file)
        return False


def copy_result(source: Path, target: Path) -> None:
    """Copies artifact and pictures; each file is replaced whole, and the card comes last.

    Raises:
        OSError: the disk refuses, or a file of the artifact is missing; the target has no card then.
    """
    target.mkdir(parents=True, exist_ok=True)
    (target / CARD).unlink(missing_ok=True)
    for name in (*PICTURES, *ARTIFACT):
        if name in ARTIFACT or (source / name).is_file():
            with replacing(target / name) as draft:
                shutil.copyfile(source / name, draft)
        else:
            (target / name).unlink(missing_ok=True)


if sys.platform == "win32":
    import msvcrt

    def _lock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)

    def _try_lock(file: IO[bytes]) -> bool:
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno == errno.EACCES:
                return False
            raise
        return True

    def _unlock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _lock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_EX)

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
