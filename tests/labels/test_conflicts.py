"""The list of conflicts: what is on it, and the way back."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from diffgan.archive import Archive
from diffgan.errors import ArchiveError, DataError
from diffgan.images import hex_id
from diffgan.labels import conflicts, consensus, import_labels, write_conflicts
from diffgan.labels.tables import id_cell

MakeArchive = Callable[..., Archive]


@pytest.fixture
def archive(make_archive: MakeArchive) -> Archive:
    """Judges conflict on the first trigger, people on the second; on the third, people agree."""
    archive = make_archive([1, 2, 3])
    ids = archive.column("ids")
    archive.labels.write("judge:m1", ids, [0, 0, 0])
    archive.labels.write("judge:m1 (majority)", ids, [1, 1, 1])
    archive.labels.write("ann", ids[1:], [0, 1])
    archive.labels.write("=bo", ids[1:], [None, 1])
    return archive


def filled(path: Path, *labels: str) -> Path:
    """A copy of the list with its column label filled in, by a spreadsheet that writes semicolons."""
    with path.open(newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    for row, label in zip(rows, labels, strict=True):
        row[1] = label
    copy = path.with_name("filled.csv")
    with copy.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=";").writerows([header, *rows])
    return copy


def test_people_stand_first_and_everybody_is_heard(archive: Archive) -> None:
    ids = archive.column("ids").tolist()
    first, second = conflicts(archive)
    assert (first.id, first.by_machine) == (ids[1], False)
    assert first.labels == {"ann": 0, "=bo": None, "judge:m1": 0, "judge:m1 (majority)": 1}
    assert (second.id, second.by_machine, set(second.labels)) == (ids[0], True, {"judge:m1", "judge:m1 (majority)"})


def test_the_list_comes_back_as_decisions(archive: Archive, tmp_path: Path) -> None:
    list_ = tmp_path / "conflicts.csv"
    write_conflicts(archive, conflicts(archive), list_)
    a, b, _ = (id_cell(hex_id(number)) for number in archive.column("ids"))
    assert list_.read_text(encoding="utf-8").splitlines() == [
        "id,label,annotator,label by =bo,label by ann,label by judge:m1,label by judge:m1 (majority)",
        f"{b},,decided,invalid,dark,dark,bright",
        f"{a},,decided,,,dark,bright",
    ]
    done = import_labels(archive, filled(list_, "bright", ""))
    assert (done.labels, done.passed_over) == ({"decided": 1}, {"conflicts without a decision": 1})
    assert consensus(archive.labels.read()).classes == (None, 1, 1)
    assert [one.by_machine for one in conflicts(archive)] == [True]
    import_labels(archive, filled(list_, "bright", "invalid"))
    assert conflicts(archive) == []


def test_a_mistake_in_the_list_names_its_line(archive: Archive, tmp_path: Path) -> None:
    list_ = tmp_path / "conflicts.csv"
    write_conflicts(archive, conflicts(archive), list_)
    with pytest.raises(DataError, match="line 3: the label 'grey' is no class"):
        import_labels(archive, filled(list_, "bright", "grey"))
    assert len(conflicts(archive)) == 2
    with pytest.raises(ArchiveError, match="exists already"):
        write_conflicts(archive, conflicts(archive), list_)


@pytest.mark.parametrize("digits", ["1234567890123456", "12345678901234e5", "0000000000000000"])
def test_ids_that_look_like_numbers_survive_a_spreadsheet(digits: str) -> None:
    assert id_cell(digits) == f"'{digits}"


def test_an_import_takes_the_apostrophe_off(archive: Archive, tmp_path: Path) -> None:
    a = hex_id(archive.column("ids")[0])
    (tmp_path / "in.csv").write_text(f"id,label,annotator\n'{a},dark,cy\n")
    assert import_labels(archive, tmp_path / "in.csv").new == 1
