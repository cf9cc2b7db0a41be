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
def locked(folder: Path, *, timed: bool) -> Iterator[None]:
    """Holds the folder's lock, and for timed runs the machine's; where the holder is killed, the system frees them.

    Raises:
        UsageError: another process holds one of them, or the folder's file system knows no locks.
    """
    with ExitStack() as held:
        file = held.enter_context((folder / FILE).open("a+b"))
        try:
            held.enter_context(_held(file, f"in {folder}", "wait for its end."))
        except OSError as error:
            raise UsageError(
                f"{folder} cannot be locked ({error.strerror}), so that two benches could write there: give an --out "
                "on another disk."
            ) from error
        if timed and (shared := _opened_for_machine()) is not None:
            held.enter_context(shared)
            advice = "wait for its end; timed runs side by side would spoil each other's figures."
            with suppress(OSError):  # no locks in the cache folder: a bench does not fail for want of a cache
                held.enter_context(_held(shared, "on this machine against the clock", advice))
        yield


def _opened_for_machine() -> IO[bytes] | None:
    """A file of this machine in the user's cache, which several machines may share; None where there is none."""
    machine = re.sub(r"[^A-Za-z0-9.-]", "_", platform.node())
    try:
        cache_folder().mkdir(parents=True, exist_ok=True)
        return (cache_folder() / f"bench-{machine}.lock").open("a+b")
    except OSError:
        return None


@contextmanager
def _held(file: IO[bytes], where: str, advice: str) -> Iterator[None]:
    if not try_lock(file):
        file.seek(0)
        holder = file.read(20).decode("ascii", "replace").strip() or "unknown"
        raise UsageError(f"Another bench (process {holder}) runs {where}: {advice}")
    try:
        file.truncate(0)
        file.write(f"{os.getpid()}\n".encode())
        file.flush()
        yield
    finally:
        file.truncate(0)
        unlock(file)
