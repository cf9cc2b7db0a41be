"""What one annotator has said, and how it is taken back."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from diffgan.labelling.sheet import INVALID, NOTHING, Sheet

SIZE = 6
Steps = list[tuple[str, int, int]]


def empty() -> Sheet:
    return Sheet(np.full(SIZE, NOTHING, dtype=np.int64))


steps = st.lists(st.tuples(st.sampled_from(["label", "skip"]), st.integers(0, SIZE - 1), st.integers(INVALID, 3)))


@given(steps)
def test_undo_leads_back_step_by_step(done: Steps) -> None:
    sheet, before = empty(), []
    for kind, row, label in done:
        before.append(sheet.said.tolist())
        if kind == "label":
            sheet.label(np.array([row]), label)
        else:
            sheet.skip(row)
    for said in reversed(before):
        sheet.undo()
        assert sheet.said.tolist() == said
    assert not sheet.steps


@given(steps, st.permutations(range(SIZE)), st.integers(0, SIZE))
def test_what_is_to_do_is_in_order_with_what_was_put_off_at_the_end(done: Steps, order: list[int], count: int) -> None:
    sheet = empty()
    for kind, row, label in done:
        if kind == "label":
            sheet.label(np.array([row]), label)
        else:
            sheet.skip(row)
    waiting = [row for row in order if sheet.said[row] == NOTHING]
    first = [row for row in waiting if row not in sheet.skipped]
    expected = first + [row for row in sheet.skipped if row in waiting]
    assert sheet.to_do(np.array(order), count) == expected[:count]
    assert sheet.waiting(np.array(order), count) == first[:count]


def test_a_skip_taken_back_stands_where_it_stood() -> None:
    sheet = empty()
    sheet.skip(0)
    sheet.undo()
    assert sheet.to_do(np.arange(SIZE), 2) == [0, 1]


def test_newcomers_have_no_label() -> None:
    sheet = empty()
    sheet.label(np.array([5]), 2)
    sheet.grow(8)
    assert sheet.said.tolist() == [NOTHING] * 5 + [2, NOTHING, NOTHING]


def test_labels_of_the_archive_come_in_without_those_of_unknown_triggers() -> None:
    sheet = empty()
    sheet.fill(np.array([3, -1, 0]), (None, 1, 2))
    assert sheet.said.tolist() == [2, NOTHING, NOTHING, INVALID, NOTHING, NOTHING]
