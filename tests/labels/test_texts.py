"""Labels and names as texts: every one is read back as it was."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffgan.errors import DataError
from diffgan.labels.texts import INVALID, ClassTexts, from_cell, to_cell

awkward = st.sampled_from(
    ["0", "1", "00", INVALID, "Invalid", "a", " a", "'a", "=1", "'=1", "", "\ud800", "a\nb", "-1"]
)
names = st.lists(awkward | st.text(max_size=4), min_size=1, max_size=6, unique=True).map(tuple)


@given(names)
def test_every_class_and_invalid_are_read_back(names: tuple[str, ...]) -> None:
    texts = ClassTexts(names, len(names))
    for label in (None, *range(len(names))):
        text = texts.write(label)
        assert text.encode()
        assert texts.read(text) == label


@given(st.text())
def test_every_text_is_read_back_from_its_cell(text: str) -> None:
    assert from_cell(to_cell(text)) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_every_cell_survives_csv(text: str) -> None:
    file = io.StringIO()
    csv.writer(file).writerow([to_cell(text), "next"])
    assert next(csv.reader(io.StringIO(file.getvalue(), newline=""), strict=True)) == [to_cell(text), "next"]


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", " =1", "＝1"])
def test_no_cell_is_a_formula(text: str) -> None:
    assert to_cell(text).startswith("'")


def test_names_win_over_numbers() -> None:
    texts = ClassTexts(("1", "2", "3"), 3)
    assert [texts.read(text) for text in ("1", "2", "3", "0")] == [0, 1, 2, 0]
    assert [texts.write(label) for label in range(3)] == ["1", "2", "3"]


def test_a_class_called_invalid_is_written_by_its_number() -> None:
    assert ClassTexts(("0", INVALID), 2).write(1) == "1"
    both = ClassTexts((INVALID, "0"), 2)
    assert both.write(0) == "00"
    assert both.read("00") == 0
    assert ClassTexts(("INVALID", "x"), 2).read("INVALID") == 0
    assert ClassTexts(("cat", "x"), 2).read("INVALID") is None


def test_a_name_that_may_have_lost_its_zeros_is_not_guessed() -> None:
    """A spreadsheet makes 1 of 01, which would be the second class here."""
    months = ClassTexts(tuple(f"{number:02}" for number in range(1, 13)), 12)
    assert [months.read(text) for text in ("01", "12", "0")] == [0, 11, 0]
    with pytest.raises(DataError, match=r"'1' may be the class '01' without its zeros.*write 01 \(as text\), or 001"):
        months.read("1")
    assert months.read("001") == 1
    assert ClassTexts(("00", "01"), 2).read("1") == 1


@pytest.mark.parametrize(
    ("texts", "text", "hint"),
    [
        (ClassTexts(("cat", "dog"), 2), "cta", "did you mean 'cat'"),
        (ClassTexts(("cat", "dog"), 2), "2", "cat, dog"),
        (ClassTexts(None, 10), "10", "a number from 0 to 9"),
        (ClassTexts(None, None), "-1", "from 0"),
        (ClassTexts(None, None), "9" * 5000, "from 0"),
    ],
)
def test_what_is_no_class_is_refused(texts: ClassTexts, text: str, hint: str) -> None:
    with pytest.raises(DataError, match=hint):
        texts.read(text)
