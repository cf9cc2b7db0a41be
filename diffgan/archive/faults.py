"""What SQLite and the operating system report, said as an ArchiveError in one line."""

from __future__ import annotations

import errno
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from diffgan.errors import ArchiveError

BUSY_SECONDS = 30

_DAMAGED = (
    "the file is truncated or damaged",
    "Restore it from a copy; when copying the archive of a running search, copy the -wal file beside it too.",
)
_UNREACHABLE = ("it cannot be opened", "Check that its folder exists and that you may read and write there.")
_FULL = ("the disk is full", "Free some space and repeat the command.")
_REFUSED = ("the disk refused to read or write", "Check its free space, quota and health.")
#: Bytes that an archive needs for anything at all: a disk with fewer is full.
_ROOM = 256 * 1024

# By SQLite's primary result code: what happened, and how to fix it.
_SQLITE = {
    sqlite3.SQLITE_FULL: _FULL,
    sqlite3.SQLITE_IOERR: _REFUSED,
    sqlite3.SQLITE_BUSY: (
        f"another process has been writing to it for {BUSY_SECONDS} s",
        "Let that process finish, or end it.",
    ),
    sqlite3.SQLITE_READONLY: (
        "it is open for reading only, or lies in a read-only place",
        "Copy it to a folder that you may write to.",
    ),
    sqlite3.SQLITE_CANTOPEN: _UNREACHABLE,
    sqlite3.SQLITE_PERM: _UNREACHABLE,
    sqlite3.SQLITE_NOTADB: ("the file is no SQLite file", "Give the archive.db of a run."),
}

_SYSTEM = {
    errno.ENOSPC: _FULL,
    errno.EDQUOT: ("the disk quota is used up", _FULL[1]),
    errno.EFBIG: ("the file would be larger than this system allows", "Write to another disk, or raise the limit."),
    errno.EROFS: ("the place is read-only", "Choose a folder that you may write to."),
    errno.EACCES: ("access is denied", "Choose a folder that you may write to."),
    errno.EPERM: ("access is denied", "Choose a folder that you may write to."),
    errno.ENOENT: ("the folder does not exist", "Create the folder first."),
    errno.ENOTDIR: ("a part of the path is a file, not a folder", "Correct the path."),
    errno.ENAMETOOLONG: ("the name is too long", "Choose a shorter name."),
}


@contextmanager
def telling(doing: str, path: Path) -> Iterator[None]:
    """Turns faults of SQLite and of the operating system into an ArchiveError that names `path`.

    Raises:
        ArchiveError: with what failed, why, and what to do.
    """
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a closed archive, or one used in two threads: a mistake in the program, not in its surroundings
    except (sqlite3.Error, UnicodeDecodeError) as error:  # the latter when damage shows in SQLite's own message
        what, fix = _fault(error, doing, path)
        kept = " All that was committed before is kept." if doing.startswith("write") else ""
        raise ArchiveError(f"Cannot {doing} {path}: {what} (SQLite says: {error}). {fix}{kept}") from error
    except OSError as error:
        what, fix = _SYSTEM.get(error.errno or 0, (error.strerror or str(error), "Check the path and the disk."))
        raise ArchiveError(f"Cannot {doing} {path}: {what}. {fix}") from error


def _fault(error: Exception, doing: str, path: Path) -> tuple[str, str]:
    """What happened, and how to fix it."""
    known = _SQLITE.get(getattr(error, "sqlite_errorcode", 0) & 0xFF, _DAMAGED)
    # What it could not write, SQLite may find damaged a moment later.
    if known in (_DAMAGED, _REFUSED) and doing.startswith(("create", "open", "write")) and _is_full(path.parent):
        return _FULL
    return known


def _is_full(folder: Path) -> bool:
    try:
        usage = shutil.disk_usage(folder)
    except OSError:
        return False
    return usage.total > 0 and usage.free < _ROOM  # a disk of no size does not say


def damaged(path: Path, detail: str) -> ArchiveError:
    """The error of an archive whose content does not make sense."""
    return ArchiveError(f"Cannot read the archive {path}: {_DAMAGED[0]} ({detail}). {_DAMAGED[1]}")
