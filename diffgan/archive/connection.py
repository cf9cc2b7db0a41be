"""How an archive's file is opened, and its transactions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from diffgan.archive.faults import BUSY_SECONDS, damaged, telling
from diffgan.archive.layout import Layout, write_layout
from diffgan.archive.publish import published
from diffgan.archive.schema import check_version, create_tables
from diffgan.errors import ArchiveError

_PAGE_BYTES = 8192
_CACHE_KIB = 64 * 1024
_WAL_PAGES = 4000  # 32 MiB, then SQLite moves them into the main file
_WAL_LEFT_BYTES = 64 * 1024 * 1024


def create_file(path: Path, layout: Layout) -> None:
    """Writes an empty archive: the whole file appears, or none.

    Raises:
        ArchiveError: the path is taken, or the disk refuses.
    """
    with telling("create the archive", path):
        _check_no_orphan(path)
    with published(path) as draft, telling("create the archive", path):
        connection = _connect(draft, "mode=rwc")
        try:
            connection.execute(f"PRAGMA page_size = {_PAGE_BYTES}")
            _use_wal(connection, path)
            create_tables(connection)
            write_layout(connection, layout)
        finally:
            connection.close()


def open_file(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """A connection to an archive, after checks that it is one.

    Raises:
        ArchiveError: it is missing, damaged, no archive, or of a newer diffgan.
    """
    with telling("open the archive", path):
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "does not exist"
            raise ArchiveError(f"The archive {path} {what}: give the archive.db of a run.")
        connection = _connect_for_reading(path) if read_only else _connect(path, "mode=rw")
        try:
            check_version(connection, path)
            _check_size(connection, path)
            if not read_only:
                _tune_for_writing(connection)
            connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except BaseException:
            connection.close()
            raise
        return connection


@contextmanager
def writing(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """One transaction: all of the block is committed, or nothing.

    Raises:
        ArchiveError: the disk refuses, or another process writes for too long.
    """
    with telling("write to the archive", path):
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # SQLite has rolled back by itself
                connection.execute("ROLLBACK")
            raise


@contextmanager
def reading(connection: sqlite3.Connection, path: Path) -> Iterator[None]:
    """One view of the archive: what others write meanwhile is not seen.

    Raises:
        ArchiveError: the file cannot be read.
    """
    with telling("read the archive", path):
        connection.execute("BEGIN")
    try:
        yield
    finally:
        with suppress(sqlite3.Error):
            connection.execute("ROLLBACK")


def _check_size(connection: sqlite3.Connection, path: Path) -> None:
    """SQLite itself overlooks a last page that is cut short."""
    (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
    if path.stat().st_size % page_bytes and not _holds_something(wal_path(path)):
        raise damaged(path, "its last page is cut short")


def wal_path(path: Path) -> Path:
    """SQLite's write-ahead log, beside the file."""
    return path.with_name(path.name + "-wal")


def _check_no_orphan(path: Path) -> None:
    log = wal_path(path)
    if not path.exists() and _holds_something(log):
        raise ArchiveError(
            f"{log} is left from an archive that is gone; a new {path.name} would swallow it: restore {path.name} "
            "beside it, or remove it."
        )


def _holds_something(log: Path) -> bool:
    return log.exists() and log.stat().st_size > 0


def _connect(path: Path, access: str) -> sqlite3.Connection:
    uri = f"{path.absolute().as_uri()}?{access}"
    connection = sqlite3.connect(uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")  # the first look at the file
    except BaseException:
        connection.close()
        raise
    return connection


def _connect_for_reading(path: Path) -> sqlite3.Connection:
    """Reads beside a writer; where nobody may write, as on a read-only disk, it reads the file alone."""
    try:
        return _connect(path, "mode=ro")
    except sqlite3.OperationalError as error:
        unwritable = (error.sqlite_errorcode & 0xFF) in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
        if not unwritable or _holds_something(wal_path(path)):
            raise
        return _connect(path, "immutable=1")


def _use_wal(connection: sqlite3.Connection, path: Path) -> None:
    (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
    if mode != "wal":
        raise ArchiveError(
            f"Cannot create the archive {path}: its file system does not support SQLite's write-ahead log "
            f"(journal mode {mode}). Choose a folder on a local disk."
        )


def _tune_for_writing(connection: sqlite3.Connection) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")  # in WAL mode, a killed process loses nothing committed
    connection.execute(f"PRAGMA wal_autocheckpoint = {_WAL_PAGES}")
    connection.execute(f"PRAGMA journal_size_limit = {_WAL_LEFT_BYTES}")
