"""What is wrong with the file, the place or the disk is said in one line, and nothing half-written is left."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffgan.archive import Archive, TriggerBatch
from diffgan.archive.export import FORMS, export
from diffgan.archive.faults import telling
from diffgan.errors import ArchiveError
from diffgan.images import ImageSpec

MakeBatch = Callable[..., TriggerBatch]


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file may grow beyond `size` bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.fixture
def read_only_folder() -> Iterator[Path]:
    """A folder that is read-only once a test has called `chmod(0o555)`; chmod does not bind root, who steps down."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    folder = Path(tempfile.mkdtemp())
    try:
        yield folder
    finally:
        os.seteuid(user)
        folder.chmod(0o700)
        shutil.rmtree(folder)


@pytest.fixture
def filled(archive: Archive, make_batch: MakeBatch) -> Path:
    """The path of a closed archive of 300 triggers."""
    archive.add(make_batch(0, 300), {"n": b"300"})
    archive.close()
    return archive.path


def assert_fails(work: Callable[[], object], *words: str) -> None:
    with pytest.raises(ArchiveError) as caught:
        work()
    message = str(caught.value)
    assert "\n" not in message
    for word in words:
        assert word in message


def walk(path: Path) -> int:
    """Everything that a reader would look at."""
    with Archive.open(path, read_only=True) as archive:
        archive.checkpoint()
        archive.disagreement()
        archive.count(kept_only=True)
        archive.labels.read()
        archive.verdicts.counts()
        return sum(len(batch) for batch in archive.batches())


@pytest.mark.parametrize("read_only", [True, False])
def test_what_is_no_archive(tmp_path: Path, read_only: bool) -> None:
    def opening(path: Path) -> Callable[[], object]:
        return lambda: Archive.open(path, read_only=read_only)

    assert_fails(opening(tmp_path / "none.db"), "none.db does not exist", "archive.db of a run")
    assert not (tmp_path / "none.db").exists()
    assert_fails(opening(tmp_path), "is a folder")
    assert_fails(opening(tmp_path / ("x" * 300)), "Cannot open")
    empty, text, other = tmp_path / "empty.db", tmp_path / "text.db", tmp_path / "other.db"
    empty.touch()
    text.write_text("not a database at all\n" * 100)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE triggers (number INTEGER)")
    connection.close()
    assert_fails(opening(empty), "no archive of diffgan")
    assert_fails(opening(text), "no SQLite file")
    assert_fails(opening(other), "no archive of diffgan")


def test_a_newer_schema_names_both_versions(filled: Path) -> None:
    with sqlite3.connect(filled) as connection:
        connection.execute("PRAGMA user_version = 7")
    connection.close()
    assert_fails(lambda: Archive.open(filled), "version 7", "up to version 1", "upgrade diffgan")


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.99])
def test_a_truncated_archive(filled: Path, share: float) -> None:
    os.truncate(filled, int(filled.stat().st_size * share))
    assert_fails(lambda: walk(filled), str(filled), "truncated or damaged")


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_damaged_archive_never_ends_in_a_traceback(filled: Path, data: st.DataObject) -> None:
    content = bytearray(filled.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        # The first pages hold the schema and the layout, where damage does most.
        place = data.draw(st.one_of(st.integers(0, 200), st.integers(0, 30_000), st.integers(0, len(content) - 9)))
        noise = data.draw(st.binary(min_size=1, max_size=8))
        content[place : place + len(noise)] = noise
    damaged = filled.with_name("damaged.db")
    damaged.write_bytes(content)
    try:
        walk(damaged)
    except ArchiveError as error:
        assert "damaged.db" in str(error)  # noqa: PT017 - not raising is as good
    finally:
        for leftover in filled.parent.glob("damaged.db*"):
            leftover.unlink()


def test_blobs_of_the_wrong_length_are_noticed(filled: Path) -> None:
    with sqlite3.connect(filled) as connection:
        connection.execute("UPDATE blobs SET images = x'00' WHERE number = 9")
    connection.close()
    assert_fails(lambda: walk(filled), "images of a row are not 16 bytes")


def test_creating_where_it_cannot_be(tmp_path: Path) -> None:
    spec = ImageSpec(1, 4, 4)
    taken, log = tmp_path / "taken.db", tmp_path / "lost.db-wal"
    taken.write_text("precious")
    log.write_text("of an archive that is gone")
    assert_fails(lambda: Archive.create(taken, spec), "exists already", "choose another name")
    assert taken.read_text() == "precious"
    assert_fails(lambda: Archive.create(taken / "archive.db", spec), "is a file, not a folder")
    assert_fails(lambda: Archive.create(tmp_path / "no" / "archive.db", spec), "folder does not exist", "Create")
    assert_fails(lambda: Archive.create(tmp_path / "lost.db", spec), "lost.db-wal is left")
    assert_fails(lambda: Archive.create(tmp_path / ("x" * 300), spec), "name is too long")
    assert sorted(tmp_path.iterdir()) == [log, taken]
    log.write_text("")  # a reader leaves an empty one
    Archive.create(tmp_path / "lost.db", spec).close()


def test_creating_on_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    with file_size_limit(10_000):
        assert_fails(lambda: Archive.create(tmp_path / "archive.db", ImageSpec(1, 4, 4)), "disk")
    assert list(tmp_path.iterdir()) == []


def test_a_disk_that_refuses_loses_only_the_batch(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 50), {"n": b"50"})
    log = archive.path.with_name("archive.db-wal")
    with file_size_limit(log.stat().st_size + 20_000):
        assert_fails(lambda: archive.add(make_batch(50, 5000), {"n": b"5050"}), "disk", "committed before is kept")
        assert archive.count() == 50
    assert archive.checkpoint() == {"n": b"50"}
    assert archive.add(make_batch(50, 50), {"n": b"100"}).all()
    archive.close()
    assert walk(archive.path) == 100


def test_a_full_disk_is_called_so(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 50), {"n": b"50"})
    connection = archive.labels.connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    assert_fails(lambda: archive.add(make_batch(50, 5000), {"n": b"5050"}), "disk is full", "Free some space")
    connection.execute("PRAGMA max_page_count = 1000000")
    assert archive.checkpoint() == {"n": b"50"}
    assert archive.add(make_batch(0, 60)).tolist() == [False] * 50 + [True] * 10


@pytest.mark.parametrize(
    ("doing", "free", "said"),
    [
        ("create the archive", 100, "disk is full"),
        ("open the archive", 100, "disk is full"),
        ("write to the archive", 100, "disk is full"),
        ("write to the archive", 1 << 30, "damaged"),
        ("write to the archive", 0, "damaged"),
        ("read the archive", 100, "damaged"),
    ],
)
def test_damage_on_a_full_disk_is_the_disks(
    doing: str, free: int, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(code: int) -> None:
        error = sqlite3.DatabaseError("database disk image is malformed")
        error.sqlite_errorcode = code
        with telling(doing, tmp_path / "archive.db"):
            raise error

    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(total=free * 8, free=free))
    assert_fails(lambda: fail(sqlite3.SQLITE_CORRUPT), said)
    assert_fails(lambda: fail(sqlite3.SQLITE_IOERR), said.replace("damaged", "refused"))


@pytest.mark.parametrize("form", FORMS)
def test_exporting_to_a_full_disk_leaves_nothing(filled: Path, form: str) -> None:
    out = filled.with_name("out")
    with Archive.open(filled) as archive, file_size_limit(50):
        assert_fails(lambda: export(archive, out, form), f"Cannot write {out}", "larger than this system allows")
    assert list(filled.parent.iterdir()) == [filled]


def test_a_file_opened_for_reading_is_not_written(filled: Path, make_batch: MakeBatch) -> None:
    with Archive.open(filled, read_only=True) as archive:
        assert_fails(lambda: archive.add(make_batch(300, 1)), "for reading only")
        assert_fails(lambda: archive.save_checkpoint({}), "for reading only")


def test_a_writer_that_waits_too_long(archive: Archive, make_batch: MakeBatch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("diffgan.archive.connection.BUSY_SECONDS", 0)
    connection = sqlite3.connect(archive.path, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    with Archive.open(archive.path) as late:
        assert_fails(lambda: late.add(make_batch(0, 1)), "another process has been writing")
        connection.execute("ROLLBACK")
        assert late.add(make_batch(0, 1)).all()
    connection.close()


def test_an_archive_in_a_read_only_folder(read_only_folder: Path, make_batch: MakeBatch) -> None:
    path = read_only_folder / "archive.db"
    with Archive.create(path, ImageSpec(1, 4, 4)) as archive:
        archive.add(make_batch(0, 5))
    path.chmod(0o444)
    read_only_folder.chmod(0o555)
    assert walk(path) == 5
    assert_fails(lambda: Archive.open(path), "archive.db", "write")
    assert_fails(lambda: Archive.create(read_only_folder / "new.db", ImageSpec(1, 4, 4)), "access is denied")
