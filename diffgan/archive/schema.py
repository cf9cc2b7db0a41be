"""The tables of an archive, and the checks that a file is one."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from diffgan._version import __version__
from diffgan.errors import ArchiveError

APPLICATION_ID = 0x64476152
"""Tells an archive of ours from any other SQLite file."""
SCHEMA_VERSION = 1

# Rows are never removed, so `number` is both the order of discovery and, at its greatest, the count. What is long
# stands apart in `blobs`, so that counts and charts need not leaf through the images. `known_before` tells the number
# of an id, but for the latest ones: see `diffgan.archive.known`. NULL stands for whatever a row does not have.
_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE checkpoint (name TEXT PRIMARY KEY, value BLOB NOT NULL);
CREATE TABLE triggers (
    number INTEGER PRIMARY KEY,
    id INTEGER NOT NULL,
    label_a INTEGER,
    label_b INTEGER,
    divergence REAL,
    evaluation INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    seconds REAL,
    queries_a INTEGER NOT NULL,
    queries_b INTEGER NOT NULL,
    classes INTEGER,
    seed_index INTEGER,
    parent INTEGER
);
CREATE TABLE blobs (
    number INTEGER PRIMARY KEY REFERENCES triggers (number),
    outputs_a BLOB NOT NULL,
    outputs_b BLOB NOT NULL,
    latents BLOB,
    images BLOB NOT NULL
);
CREATE TABLE known_before (id INTEGER PRIMARY KEY, number INTEGER NOT NULL);
CREATE TABLE verdicts (
    trigger INTEGER NOT NULL REFERENCES triggers (number),
    filter TEXT NOT NULL,
    passed INTEGER NOT NULL,
    score REAL,
    reason TEXT NOT NULL,
    PRIMARY KEY (trigger, filter)
) WITHOUT ROWID;
CREATE INDEX verdicts_failed ON verdicts (trigger) WHERE passed = 0;
CREATE TABLE labels (
    trigger INTEGER NOT NULL REFERENCES triggers (number),
    annotator TEXT NOT NULL,
    class INTEGER,
    time REAL NOT NULL,
    PRIMARY KEY (trigger, annotator)
) WITHOUT ROWID;
"""


def create_tables(connection: sqlite3.Connection) -> None:
    """Lays out an empty archive."""
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.executescript(_TABLES)


def check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Makes sure that the file is an archive that this version of diffgan reads.

    Raises:
        ArchiveError: it is another kind of SQLite file, or was written by a newer diffgan.
    """
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != APPLICATION_ID or version < 1:
        raise ArchiveError(f"{path} is no archive of diffgan: give the archive.db of a run.")
    if version > SCHEMA_VERSION:
        raise ArchiveError(
            f"The archive {path} has schema version {version}, but diffgan {__version__} reads up to version "
            f"{SCHEMA_VERSION}: upgrade diffgan."
        )
