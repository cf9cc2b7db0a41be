"""One bench at a time in a folder, and one timed bench on a machine: two would spoil each other's times."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from diffgan.cache import cache_folder
from diffgan.errors import UsageError
from diffgan.locks import try_lock, unlock

FILE = "bench.lock"


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock; where the holder is killed, the system frees it.

    Raises:
        UsageError: another process holds it, or the folder's file system knows no locks.
    """
    with (folder / FILE).open("a+b", buffering=0) as file, ExitStack() as held:
        try:
            held.enter_context(_held(file, f"in {folder}", "wait for its end."))
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be locked ({error.strerror}), so that two benches could write there: give an --out "
                "on another disk."
            ) from error
        yield


@contextmanager
def alone_against_the_clock() -> Iterator[None]:
    """Holds this machine's lock, in the user's cache; without it where there can be none: that is no reason to fail.

    Raises:
        UsageError: another process holds it.
    """
    machine = re.sub(r"[^A-Za-z0-9.-]", "_", platform.node())
    with ExitStack() as held:
        with suppress(OSError):
            cache_folder().mkdir(parents=True, exist_ok=True)
            file = held.enter_context((cache_folder() / f"bench-{machine}.lock").open("a+b", buffering=0))
            advice = "wait for its end; timed runs side by side would spoil each other's figures."
            held.enter_context(_held(file, "on this machine against the clock", advice))
        yield


@contextmanager
def _held(file: IO[bytes], where: str, advice: str) -> Iterator[None]:
    if not try_lock(file):
        file.seek(0)
        holder = file.read(20).decode("ascii", "replace").strip() or "unknown"
        raise UsageError(f"Another bench (process {holder}) runs {where}: {advice}")
    try:
        with suppress(OSError):  # a full disk: the number only helps whoever is refused
            file.truncate(0)
            file.write(f"{os.getpid()}\n".encode())
        yield
    finally:
        with suppress(OSError):
            file.truncate(0)
        unlock(file)
