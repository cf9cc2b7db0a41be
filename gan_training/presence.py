"""Which processes of a study still run: each holds a lock in the tuning's folder for as long as it lives.

A process' number says nothing in another container, though its folder may be the same; a lock does.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from diffgan.locks import is_locked, locked

_FOLDER = ".present"


@contextmanager
def present(out: Path) -> Iterator[str | None]:
    """Within it, this process is known to run, by the token; None where the file system knows no locks."""
    token = secrets.token_hex(8)
    path = out / _FOLDER / token
    held = locked(path)
    try:
        path.parent.mkdir(exist_ok=True)
        held.__enter__()
    except OSError:
        yield None
        return
    try:
        yield token
    finally:
        held.__exit__(None, None, None)
        with suppress(OSError):
            path.unlink()
            path.parent.rmdir()  # where it was the last one


def is_gone(out: Path, token: str) -> bool | None:
    """Whether the process of a token runs no more; None where that cannot be told, as from another folder."""
    path = out / _FOLDER / token
    if not token or not path.is_file():
        return None
    try:
        return not is_locked(path)
    except OSError:
        return None
