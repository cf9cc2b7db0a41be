"""What is archived comes back, once, in order."""

from __future__ import annotations

import dataclasses
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from diffgan.archive import NO_INDEX, NO_PARENT, Archive, TriggerBatch
from diffgan.archive.known import TAIL_MOST
from diffgan.errors import ArchiveError, DataError
from diffgan.images import ImageSpec, hex_id, image_ids

MakeBatch = Callable[..., TriggerBatch]


def numbers_in(archive: Archive, *, size: int | None = None, kept_only: bool = False) -> list[int]:
    """The triggers in the archive, by the number that `make_batch` made them from."""
    batches = archive.batches(size=size, kept_only=kept_only)
    return [int(evaluation) // 2 for batch in batches for evaluation in batch.evaluation]


def assert_same(given: TriggerBatch, found: TriggerBatch) -> None:
    for field in dataclasses.fields(TriggerBatch):
        expected, came = getattr(given, field.name), getattr(found, field.name)
        assert (expected is None) == (came is None), field.name
        if expected is not None:
            assert_array_equal(came, expected, err_msg=field.name, strict=field.name in ("images", "latents"))


def test_every_column_comes_back_as_it_went_in(archive: Archive, make_batch: MakeBatch) -> None:
    batch = dataclasses.replace(
        make_batch(0, 5),
        divergence=np.array([np.nan, np.inf, -1.0, 0.1, 0.0]),
        seed_index=np.array([3, NO_INDEX, 0, 1, 2]),
        parent=np.array([NO_PARENT, -5, 7, 2**62, 9]),
    )
    assert archive.add(batch).tolist() == [True] * 5
    (found,) = archive.batches()
    assert_same(batch, found)
    assert_array_equal(found.ids, image_ids(batch.images))
    assert_array_equal(found.numbers, np.arange(1, 6))
    assert found.kept.all()
    assert found.outputs_a.dtype == np.float32


def test_a_reopened_archive_holds_the_same(tmp_path: Path, make_batch: MakeBatch) -> None:
    path = tmp_path / "a b%20?#é.db"
    with Archive.create(path, ImageSpec(1, 4, 4), ["ä", "=b", ""]) as archive:
        archive.add(make_batch(0, 3))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    for read_only in (False, True):
        with Archive.open(path, read_only=read_only) as archive:
            assert archive.class_names == ("ä", "=b", "")
            assert archive.image_spec == ImageSpec(1, 4, 4)
            assert archive.layout.outputs_a == (3,)
            assert numbers_in(archive) == [0, 1, 2]


def test_columns_that_no_row_has_are_none(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 2, latents=False, labels=False))
    (found,) = archive.batches()
    absent = ("label_a", "label_b", "latents", "classes", "seed_index", "parent")
    assert [name for name, column in found.columns().items() if column is None] == list(absent)
    assert not archive.has("latents")
    assert archive.disagreement() == {(None, None): 2}


def test_rows_without_latents_beside_rows_with(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 2, latents=False))
    archive.add(make_batch(2, 2))
    (found,) = archive.batches()
    assert found.latents is not None
    assert found.classes is not None
    assert np.isnan(found.latents[:2]).all()
    assert_array_equal(found.latents[2:], make_batch(2, 2).latents)
    assert found.classes.tolist() == [NO_INDEX, NO_INDEX, 2, 0]
    assert archive.has("latents")


@pytest.mark.parametrize("shape", [(1000,), (4, 4, 2), (1,)])
def test_outputs_keep_the_shape_of_their_task(archive: Archive, make_batch: MakeBatch, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    outputs = rng.random((6, *shape), dtype=np.float32)
    archive.add(dataclasses.replace(make_batch(0, 6), outputs_a=outputs))
    (found,) = archive.batches()
    assert_array_equal(found.outputs_a, outputs)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(batches=st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=8))
def test_each_image_is_archived_once_where_first_seen(
    tmp_path_factory: pytest.TempPathFactory, make_batch: MakeBatch, batches: list[list[int]]
) -> None:
    path = tmp_path_factory.mktemp("archive") / "archive.db"
    everything, seen = make_batch(0, 31), list[int]()
    with Archive.create(path, ImageSpec(1, 4, 4)) as archive:
        for numbers in batches:
            is_new = archive.add(everything.select(np.array(numbers, dtype=np.int64)))
            expected = [n not in seen and n not in numbers[:place] for place, n in enumerate(numbers)]
            assert is_new.tolist() == expected
            seen += [n for n, new in zip(numbers, expected, strict=True) if new]
        assert numbers_in(archive, size=3) == seen
        assert archive.count() == len(seen)
        assert archive.contains(image_ids(everything.images)).tolist() == [n in seen for n in range(31)]


def test_triggers_of_long_ago_are_still_known(archive: Archive, make_batch: MakeBatch) -> None:
    """Past the size at which ids move from the small table to the large one."""
    starts = range(0, 70_000, 5000)
    for start in starts:
        assert archive.add(make_batch(start, 5000)).all()
    for start in starts:
        assert not archive.add(make_batch(start, 5000)).any()
    assert archive.count() == 70_000
    assert_array_equal(archive.column("evaluation"), 2 * np.arange(70_000))
    ids = archive.column("ids")
    assert_array_equal(archive.find(ids[[1, 69_999, 33_000]]).numbers, [2, 70_000, 33_001])


def test_lookup_by_hex_id(archive: Archive, make_batch: MakeBatch) -> None:
    batch = make_batch(0, 20)
    archive.add(batch)
    ids = image_ids(batch.images)
    found = archive.lookup(hex_id(ids[7]))
    assert_same(batch.select(slice(7, 8)), found)
    assert found.hex_ids == [hex_id(ids[7])]
    assert_same(batch.select(np.array([9, 2])), archive.find(ids[[9, 2]]))
    assert len(archive.find([])) == 0
    with pytest.raises(DataError, match="has no trigger 0000000000000001"):
        archive.lookup("0000000000000001")
    with pytest.raises(DataError, match="16 hex digits"):
        archive.lookup("7")


def test_counts_by_label(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 10))
    assert archive.disagreement() == {(0, 1): 4, (1, 2): 3, (2, 0): 3}


def test_columns_without_the_rest(archive: Archive, make_batch: MakeBatch) -> None:
    assert archive.column("seconds").shape == (0,)
    archive.add(make_batch(0, 10))
    assert_array_equal(archive.column("seconds"), np.arange(10) / 100)
    assert archive.column("images").shape == (10, 4, 4, 1)
    assert [page["ids"].size for page in archive.stream("ids", "label_a", size=4)] == [4, 4, 2]
    with pytest.raises(DataError, match="no column 'colour'"):
        archive.column("colour")


def test_the_checkpoint_is_replaced_as_a_whole(archive: Archive, make_batch: MakeBatch) -> None:
    assert archive.checkpoint() == {}
    archive.add(make_batch(0, 1), {"rng": b"\x00\xff", "population": b""})
    assert archive.checkpoint() == {"rng": b"\x00\xff", "population": b""}
    archive.add(make_batch(1, 1))
    archive.add(make_batch(0, 0), {"clusters": b"x"})
    assert archive.checkpoint() == {"clusters": b"x"}
    archive.save_checkpoint({"rng": b"1"})
    assert archive.checkpoint() == {"rng": b"1"}


def test_only_parts_of_the_checkpoint_that_changed_are_written(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 1), {"same": b"1", "changes": b"2", "goes": b"3"})
    before = archive._connection.total_changes
    archive.save_checkpoint({"same": b"1", "changes": b"4", "comes": b"5"})
    assert archive._connection.total_changes - before == 3  # one gone, one changed, one new
    assert archive.checkpoint() == {"same": b"1", "changes": b"4", "comes": b"5"}


def test_after_a_failure_the_checkpoint_is_written_whole(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 1), {"n": b"1", "m": b"1"})
    with pytest.raises(ArchiveError):
        archive.save_checkpoint({"n": b"2", "m": b"2", "none": None})  # type: ignore[dict-item]
    archive.add(make_batch(1, 1))  # commits, without a checkpoint
    archive.save_checkpoint({"n": b"2", "m": b"2"})
    assert archive.checkpoint() == {"n": b"2", "m": b"2"}


def test_a_batch_that_fails_leaves_neither_rows_nor_checkpoint(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 2), {"n": b"2"})
    bad_checkpoint = {"n": b"4", "none": None}
    with pytest.raises(ArchiveError):
        archive.add(make_batch(2, 2), bad_checkpoint)  # type: ignore[arg-type]
    assert numbers_in(archive) == [0, 1]
    assert archive.checkpoint() == {"n": b"2"}
    assert archive.add(make_batch(2, 2), {"n": b"4"}).all()


def test_batches_that_do_not_fit_are_refused(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 2))
    with pytest.raises(DataError, match=r"images .* \(5, 5, 1\) .* holds \(4, 4, 1\)"):
        archive.add(make_batch(0, 2, size=5))
    with pytest.raises(DataError, match=r"outputs_b .* \(4,\) .* holds \(3,\)"):
        archive.add(dataclasses.replace(make_batch(2, 2), outputs_b=np.zeros((2, 4), dtype=np.float32)))
    with pytest.raises(DataError, match="label_a of a trigger batch has 3 rows; expected 2"):
        dataclasses.replace(make_batch(0, 2), label_a=np.arange(3))
    with pytest.raises(DataError, match="float32 of shape"):
        dataclasses.replace(make_batch(0, 2), images=np.zeros((2, 4, 4, 1), dtype=np.float32))
    with pytest.raises(DataError, match="evaluation of a trigger batch is float64"):
        dataclasses.replace(make_batch(0, 2), evaluation=np.zeros(2))  # type: ignore[arg-type]
    assert archive.count() == 2


def test_another_process_settles_the_shapes(archive: Archive, make_batch: MakeBatch) -> None:
    with Archive.open(archive.path) as other:
        other.add(make_batch(0, 2))
    with pytest.raises(DataError, match="outputs_a"):
        archive.add(dataclasses.replace(make_batch(2, 2), outputs_a=np.zeros((2, 9), dtype=np.float32)))
    (found,) = archive.batches()
    assert found.outputs_a.shape == (2, 3)


def test_what_came_later_is_not_in_a_snapshot(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 3))
    with Archive.open(archive.path, read_only=True) as reader:
        with reader.snapshot():
            assert reader.count() == 3
            archive.add(make_batch(3, 3))
            assert numbers_in(reader) == [0, 1, 2]
        assert reader.count() == 6


def test_iteration_ends_with_the_triggers_that_were_there(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 4))
    seen = []
    for batch in archive.batches(size=2):
        seen += batch.evaluation.tolist()
        archive.add(make_batch(100 + 10 * len(seen), 5))
    assert len(seen) == 4


def test_reading_and_labelling_while_the_search_writes(archive: Archive, make_batch: MakeBatch) -> None:
    """A reader sees whole batches only, in order; a labeller's writes and the search's both arrive."""
    batches, rows = 150, 8
    failures: list[BaseException] = []
    done = threading.Event()
    archive.add(make_batch(0, 8 * rows), {"batches": b"8"})

    def guarded(work: Callable[[Archive], None]) -> None:
        try:
            with Archive.open(archive.path) as mine:
                work(mine)
        except BaseException as error:  # noqa: BLE001 - reported by the main thread
            failures.append(error)

    def read(mine: Archive) -> None:
        before = 0
        while not done.is_set():
            with mine.snapshot():
                seen, state = numbers_in(mine, size=50), int(mine.checkpoint()["batches"])
            assert seen == list(range(state * rows))
            assert len(seen) >= before
            before = len(seen)

    def label(mine: Archive) -> None:
        for round_number in range(60):
            ids = mine.column("ids")[: round_number + 1]
            mine.labels.write("ann", ids, [round_number % 3] * len(ids))

    threads = [threading.Thread(target=guarded, args=(work,)) for work in (read, label)]
    for thread in threads:
        thread.start()
    try:
        for number in range(8, batches):
            archive.add(make_batch(number * rows, rows), {"batches": str(number + 1).encode()})
        threads[1].join()
    finally:
        done.set()  # or a failing writer would leave a reader that never ends
        threads[0].join()
    assert not failures
    assert archive.count() == batches * rows
    assert archive.labels.read("ann").classes == (2,) * 60


def test_importing_the_archive_stays_light() -> None:
    code = "import sys, diffgan.archive, diffgan.archive.export; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "diffgan.archive.store" in loaded
    assert not {"torch", "pyarrow", "PIL", "pandas", "scipy", "datasets"} & set(loaded)


def test_a_reader_keeps_up_with_the_ids_of_a_writer(archive: Archive, make_batch: MakeBatch) -> None:
    """Also where the writer moves the ids of its tail to the table meanwhile."""
    ids = image_ids(make_batch(0, TAIL_MOST + 20).images)
    with Archive.open(archive.path, read_only=True) as reader:
        assert not reader.contains(ids[:1]).any()
        for start, stop in ((0, 10), (10, TAIL_MOST - 5), (TAIL_MOST - 5, TAIL_MOST + 10), (TAIL_MOST + 10, len(ids))):
            archive.add(make_batch(start, stop - start))
            for opened in (reader, archive):
                assert opened.contains(ids[:stop]).all()
                assert not opened.contains(ids[stop:]).any()
                assert opened.find(ids[[0, stop - 1]]).numbers.tolist() == [1, stop]


def test_what_was_rolled_back_is_not_known(archive: Archive, make_batch: MakeBatch) -> None:
    archive.add(make_batch(0, 5))
    batch = make_batch(5, TAIL_MOST)
    with pytest.raises(sqlite3.ProgrammingError):
        archive.add(batch, {"part": object()})  # type: ignore[dict-item]
    assert archive.contains(image_ids(make_batch(0, 9).images)).tolist() == [True] * 5 + [False] * 4
    assert archive.add(batch).all()
    assert archive.count() == 5 + TAIL_MOST
