"""The file of rows: whole lines only, never measured twice, never mixed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from diffgan.bench.cells import fingerprint_of
from diffgan.bench.rows import FILE, Row, Rows
from diffgan.errors import UsageError

DEFINITION: dict[str, Any] = {"diffgan": "0.1.0", "strategy": {"settings": {"population": 64}}, "seed": 0}


def row(status: str = "done", cell: str = "p/g/random/0", **changed: Any) -> Row:
    definition = DEFINITION | changed
    return {"cell": cell, "status": status, "fingerprint": fingerprint_of(definition), "definition": definition}


def test_what_is_appended_is_there_for_the_next_call(tmp_path: Path) -> None:
    Rows(tmp_path).append(row())
    assert Rows(tmp_path).is_done("p/g/random/0")
    assert Rows(tmp_path).keys() == ["p/g/random/0"]


def test_of_several_rows_the_last_one_counts(tmp_path: Path) -> None:
    rows = Rows(tmp_path)
    rows.append(row("failed"))
    assert not rows.is_done("p/g/random/0")
    rows.append(row())
    assert Rows(tmp_path).is_done("p/g/random/0")
    assert len((tmp_path / FILE).read_text().splitlines()) == 2


def test_a_line_that_a_kill_cut_short_is_no_row_and_spoils_no_later_one(tmp_path: Path) -> None:
    Rows(tmp_path).append(row())
    with (tmp_path / FILE).open("ab") as file:
        file.write(b'{"cell": "p/g/random/1", "stat')
    rows = Rows(tmp_path)
    assert rows.keys() == ["p/g/random/0"]
    rows.append(row(cell="p/g/random/2"))
    assert Rows(tmp_path).keys() == ["p/g/random/0", "p/g/random/2"]


def test_a_whole_last_line_that_an_editor_left_without_its_end_is_kept(tmp_path: Path) -> None:
    Rows(tmp_path).append(row())
    path = tmp_path / FILE
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    rows = Rows(tmp_path)
    assert rows.keys() == ["p/g/random/0"]
    rows.append(row(cell="p/g/random/2"))
    assert Rows(tmp_path).keys() == ["p/g/random/0", "p/g/random/2"]


@pytest.mark.parametrize("line", [b"{}\n", b"[1]\n", b"\xff\n", b"{\n"])
def test_a_damaged_line_is_told_with_its_number(tmp_path: Path, line: bytes) -> None:
    Rows(tmp_path).append(row())
    with (tmp_path / FILE).open("ab") as file:
        file.write(line)
    with pytest.raises(UsageError, match="line 2, is damaged"):
        Rows(tmp_path)


def test_other_cells_and_equal_definitions_are_no_mistake(tmp_path: Path) -> None:
    rows = Rows(tmp_path)
    rows.append(row())
    rows.append(row(cell="p/g/random/9", seed=9))
    rows.check({"p/g/random/0": DEFINITION})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"diffgan": "0.2.0"}, r"diffgan was 0.1.0, is 0.2.0"),
        ({"strategy": {"settings": {"population": 65}}}, r"strategy.settings.population was 64, is 65"),
    ],
)
def test_rows_that_were_measured_otherwise_are_refused(tmp_path: Path, changed: Any, message: str) -> None:
    rows = Rows(tmp_path)
    rows.append(row())
    with pytest.raises(UsageError, match=message + r".*--out"):
        rows.check({"p/g/random/0": DEFINITION | changed})


def test_a_failed_cell_may_be_mended(tmp_path: Path) -> None:
    rows = Rows(tmp_path)
    rows.append(row("failed"))
    rows.check({"p/g/random/0": DEFINITION | {"seed": 5}})
