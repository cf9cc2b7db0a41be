"""Thresholds that a run remembers hold for the scores that they were chosen for, and for no others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from diffgan.errors import ArchiveError
from diffgan.filters.chosen import Chosen
from tests.filters.test_chain import Brightness

BY_MEAN = Brightness(100.0)
BY_MEDIAN = replace(BY_MEAN, identity="median")


def test_they_hold_for_the_same_scores_and_are_told_for_others(tmp_path: Path) -> None:
    Chosen(tmp_path).write({"brightness": 5.0}, [BY_MEAN])
    assert Chosen(tmp_path).of([BY_MEAN]) == ({"brightness": 5.0}, {})
    found, notes = Chosen(tmp_path).of([BY_MEDIAN])
    assert found == {}
    assert list(notes) == ["brightness"]
    assert "set to 5: its own applies. --threshold brightness=" in notes["brightness"]


def test_one_of_a_filter_that_is_gone_waits_for_it(tmp_path: Path) -> None:
    Chosen(tmp_path).write({"brightness": 5.0}, [BY_MEAN])
    assert Chosen(tmp_path).of([]) == ({}, {})
    Chosen(tmp_path).write({}, [])
    assert Chosen(tmp_path).of([BY_MEAN]) == ({"brightness": 5.0}, {})


def test_a_chain_that_is_chosen_for_anew_forgets_what_was(tmp_path: Path) -> None:
    other = replace(BY_MEAN, name="other")
    Chosen(tmp_path).write({"brightness": 5.0, "other": 6.0}, [BY_MEAN, other])
    Chosen(tmp_path).write({}, [BY_MEAN], anew=True)
    assert Chosen(tmp_path).of([BY_MEAN, other]) == ({"other": 6.0}, {})


def test_a_number_alone_holds_for_any(tmp_path: Path) -> None:
    (tmp_path / "thresholds.json").write_text('{"brightness": 7}', encoding="utf-8")
    assert Chosen(tmp_path).of([BY_MEDIAN]) == ({"brightness": 7.0}, {})


@pytest.mark.parametrize("text", ["", "[]", '{"brightness": []}', '{"brightness": "much"}', '{"brightness": [1]}'])
def test_what_is_damaged_is_as_if_nothing_was_chosen(tmp_path: Path, text: str) -> None:
    (tmp_path / "thresholds.json").write_text(text, encoding="utf-8")
    assert Chosen(tmp_path).of([BY_MEAN]) == ({}, {})
    Chosen(tmp_path).write({"brightness": 1.0}, [BY_MEAN])
    assert json.loads((tmp_path / "thresholds.json").read_text()) == {"brightness": [1.0, "mean"]}


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="cannot be written"):
        Chosen(tmp_path / "gone").write({"brightness": 1.0}, [BY_MEAN])
