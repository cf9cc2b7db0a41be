"""Labels in and out of files: exact round trips, all or nothing, the line of every mistake."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from diffgan.archive import Archive
from diffgan.errors import ArchiveError, DataError, UsageError
from diffgan.images import hex_id
from diffgan.labels import Imported, export_labels, import_labels

MakeArchive = Callable[..., Archive]
Said = dict[tuple[int, str], int | None]


def said_in(archive: Archive) -> Said:
    labels = archive.labels.read()
    return dict(zip(zip(labels.ids.tolist(), labels.annotators, strict=True), labels.classes, strict=True))


def hex_ids(archive: Archive) -> list[str]:
    return [hex_id(number) for number in archive.column("ids")]


def write(path: Path, *lines: str, encoding: str = "utf-8") -> Path:
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


@pytest.fixture
def archive(make_archive: MakeArchive) -> Archive:
    return make_archive([1, 2, 3, 4])


def test_labels_come_in_by_name_number_and_invalid(archive: Archive, tmp_path: Path) -> None:
    a, b, c, _ = hex_ids(archive)
    file = write(tmp_path / "in.csv", "id,label,annotator", f"{a},bright,ann", f"{b},0,ann", f"{c},invalid,bo", "")
    assert import_labels(archive, file) == Imported({"ann": 2, "bo": 1}, new=3, changed=0, repeated=0)
    ids = archive.column("ids").tolist()
    assert said_in(archive) == {(ids[0], "ann"): 1, (ids[1], "ann"): 0, (ids[2], "bo"): None}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("separator", [",", ";"])
def test_a_byte_order_mark_semicolons_and_padding_do_no_harm(
    archive: Archive, tmp_path: Path, encoding: str, separator: str
) -> None:
    rows = [["Annotator", " id", "label", ""], ["ann", hex_ids(archive)[0].upper(), " bright ", ""], ["", "", "", ""]]
    file = write(tmp_path / "in.csv", *(separator.join(row) for row in rows), encoding=encoding)
    import_labels(archive, file)
    assert list(said_in(archive).values()) == [1]


def test_the_last_of_repeated_rows_counts(archive: Archive, tmp_path: Path) -> None:
    a = hex_ids(archive)[0]
    rows = [f"{a},bright,ann", f"{a},dark,bo", f"{a},invalid,ann", f"{a},dark,ann"]
    done = import_labels(archive, write(tmp_path / "in.csv", "id,label,annotator", *rows))
    assert done == Imported({"ann": 1, "bo": 1}, new=2, changed=0, repeated=2)
    assert list(said_in(archive).values()) == [0, 0]


def test_what_is_there_already_keeps_its_time(archive: Archive, tmp_path: Path) -> None:
    ids = archive.column("ids")[:3]
    archive.labels.write("ann", ids, [0, 1, None], times=[10, 20, 30])
    a, b, _, d = hex_ids(archive)
    rows = [f"{a},dark,ann", f"{b},dark,ann", f"{d},dark,ann"]
    done = import_labels(archive, write(tmp_path / "in.csv", "id,label,annotator", *rows))
    assert (done.new, done.changed) == (1, 1)
    labels = archive.labels.read()
    assert labels.classes == (0, 0, None, 0)
    assert labels.times[[0, 2]].tolist() == [10, 30]
    assert labels.times[1] > 30


def test_the_annotator_may_be_named_in_the_call(archive: Archive, tmp_path: Path) -> None:
    a = hex_ids(archive)[0]
    short = write(tmp_path / "in.csv", "label,id", f"dark,{a}")
    with pytest.raises(UsageError, match="--annotator NAME"):
        import_labels(archive, short)
    assert import_labels(archive, short, annotator="ann").labels == {"ann": 1}
    whole = write(tmp_path / "whole.csv", "id,label,annotator", f"{a},dark,bo")
    with pytest.raises(UsageError, match="has a column annotator"):
        import_labels(archive, whole, annotator="ann")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["id,label,annotator", "{a},dark,ann", "{b},green,ann"], "line 3: the label 'green' is no class"),
        (["id,label,annotator", "{a},dark,ann", "{b},2,ann"], "line 3: the label '2' is no class"),
        (["id,label,annotator", "{a},dark,ann", "00000000000000ff,dark,ann"], "line 3: the trigger 00000000000000ff"),
        (["id,label,annotator", "{a},dark,ann", "12,dark,ann"], "line 3: the id '12' .* import the column id as text"),
        (["id,label,annotator", "{a},dark,ann", "1.2E+15,dark,ann"], "line 3.* spreadsheet"),
        (["id,label,annotator", "{a},dark,ann", "xyz,dark,ann"], "line 3: A trigger id is 16 hex digits, not 'xyz'"),
        (["id,label,annotator", "{a},dark,ann", "{b},,ann"], "line 3 has no label"),
        (["id,label,annotator", "{a},dark,ann", "{b},dark, "], "line 3 names no annotator"),
        (["id,label,annotator", "{a},dark,ann", "{b},dark"], "line 3 has 2 cells; expected 3"),
        (["id,label,annotator", "{a},dark,ann", "{b},dark,ann,x"], "line 3 has 4 cells; expected 3"),
        (["id,label,annotator", "{a},dark,ann", '{b},"dark,ann'], "line 3: this is no CSV"),
        (["id,class,annotator", "{a},dark,ann"], "line 1: the columns are 'id', 'class', 'annotator'; expected id, la"),
        (["id,label,annotator,note", "{a},dark,ann,x"], "line 1.*'note'"),
        (["id,label,label,annotator", "{a},dark,dark,ann"], "line 1"),
        (["{a},dark,ann"], "line 1: the columns are"),
        ([], "line 1: the columns are nothing"),
    ],
)
def test_one_mistake_and_nothing_is_written(archive: Archive, tmp_path: Path, lines: list[str], said: str) -> None:
    a, b, *_ = hex_ids(archive)
    with pytest.raises(DataError, match=said):
        import_labels(archive, write(tmp_path / "in.csv", *(line.format(a=a, b=b) for line in lines)))
    assert said_in(archive) == {}


def test_another_encoding_is_told_by_its_line(archive: Archive, tmp_path: Path) -> None:
    rows = ["id,label,annotator", f"{hex_ids(archive)[0]},dark,zoë"]
    with pytest.raises(DataError, match="line 2: this is no UTF-8"):
        import_labels(archive, write(tmp_path / "in.csv", *rows, encoding="latin-1"))
    with pytest.raises(DataError, match="cannot be read"):
        import_labels(archive, tmp_path / "none.csv")


def test_a_fault_at_the_second_annotator_undoes_the_first(archive: Archive, tmp_path: Path) -> None:
    archive.labels.connection.execute(
        "CREATE TRIGGER refuse BEFORE INSERT ON labels WHEN NEW.annotator = 'bo' BEGIN SELECT RAISE(ABORT, 'no'); END"
    )
    a, b, *_ = hex_ids(archive)
    file = write(tmp_path / "in.csv", "id,label,annotator", f"{a},dark,ann", f"{b},dark,bo")
    with pytest.raises(ArchiveError):
        import_labels(archive, file)
    assert said_in(archive) == {}


def test_the_export_is_in_order_of_discovery_and_by_annotator(archive: Archive, tmp_path: Path) -> None:
    ids = archive.column("ids")
    archive.labels.write("bo", ids[[2, 0]], [1, None])
    archive.labels.write("ann", ids[[0]], [0])
    assert export_labels(archive, tmp_path / "out.csv") == 3
    a, _, c, _ = hex_ids(archive)
    lines = ["id,label,annotator", f"{a},dark,ann", f"{a},invalid,bo", f"{c},bright,bo"]
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines() == lines
    assert export_labels(archive, tmp_path / "ann.csv", annotator="ann") == 1
    with pytest.raises(UsageError, match="annotators there: ann, bo"):
        export_labels(archive, tmp_path / "cy.csv", annotator="cy")


def test_nothing_is_overwritten(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "out.csv").write_text("mine")
    with pytest.raises(ArchiveError, match="exists already"):
        export_labels(archive, tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == "mine"
    with pytest.raises(ArchiveError, match="folder does not exist"):
        export_labels(archive, tmp_path / "none" / "out.csv")


texts = st.sampled_from(["=1", " x", "'x", "judge:m1+m2", "ann", "a,b", 'q"q', "a\r\nb", "０", "zoë"])
names = st.lists(texts | st.sampled_from(["0", "1", "invalid"]), min_size=2, max_size=4, unique=True)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(names, st.dictionaries(st.tuples(st.integers(0, 3), texts), st.none() | st.integers(0, 1), max_size=12))
def test_a_round_trip_is_exact(
    make_archive: MakeArchive,
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    given_labels: dict[tuple[int, str], int | None],
) -> None:
    folder = tmp_path_factory.mktemp("round")
    first, second = make_archive([1, 2, 3, 4], names), make_archive([1, 2, 3, 4], names)
    ids = first.column("ids")
    for (row, annotator), label in given_labels.items():
        first.labels.write(annotator, ids[[row]], [label])
    export_labels(first, folder / "one.csv")
    import_labels(second, folder / "one.csv")
    assert said_in(first) == said_in(second)
    export_labels(second, folder / "two.csv")
    assert (folder / "one.csv").read_bytes() == (folder / "two.csv").read_bytes()


def test_without_names_the_models_outputs_tell_how_many_classes(make_archive: MakeArchive, tmp_path: Path) -> None:
    archive = make_archive([1, 2], None)
    a = hex_ids(archive)[0]
    import_labels(archive, write(tmp_path / "in.csv", "id,label,annotator", f"{a},1,ann"))
    assert list(said_in(archive).values()) == [1]
    with pytest.raises(DataError, match="a number from 0 to 1"):
        import_labels(archive, write(tmp_path / "more.csv", "id,label,annotator", f"{a},2,ann"))


def test_write_all_takes_other_labels_of_the_same_back_only_when_asked(archive: Archive) -> None:
    ids = archive.column("ids")
    archive.labels.write("ann", ids, [0, 0, 0, 0])
    archive.labels.write("bo", ids, [0, 0, 0, 0])
    archive.labels.write_all({"ann": {int(ids[0]): 1}})
    assert archive.labels.read("ann").classes == (1, 0, 0, 0)
    archive.labels.write_all({"ann": {int(ids[1]): None}}, alone=True)
    assert archive.labels.read("ann").classes == (None,)
    assert archive.labels.counts() == {"ann": 1, "bo": 4}
    for wrong in ({5: 0}, {int(ids[0]): 2}):
        with pytest.raises(DataError):
            archive.labels.write_all({"bo": {int(ids[0]): 1}, "cy": wrong}, alone=True)
    assert archive.labels.counts() == {"ann": 1, "bo": 4}
    assert np.isfinite(archive.labels.read().times).all()
