"""Collapse is measured over all finds and over the latest."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffgan.search.collapse import CollapseMeter, balanced, beyond_quota, cells_of


def test_nothing_found_is_no_collapse() -> None:
    meter = CollapseMeter()
    assert (meter.cells, meter.largest_share, meter.largest_recent_share) == (0, 0, 0)


def test_shares_of_all_and_of_the_latest() -> None:
    meter = CollapseMeter(recent=4)
    meter.observe(np.array([1, 2, 3, 1, 1]))
    meter.observe(np.array([7, 7, 7]))
    assert meter.cells == 4
    assert meter.largest_share == 3 / 8
    assert meter.largest_recent_share == 3 / 4


@given(st.lists(st.integers(0, 5), max_size=60), st.integers(0, 60))
def test_restored_it_counts_on(cells: list[int], stop: int) -> None:
    whole, again = CollapseMeter(recent=7), CollapseMeter(recent=7)
    whole.observe(np.array(cells[:stop], dtype=np.int64))
    again.restore(whole.state())
    for meter in (whole, again):
        meter.observe(np.array(cells[stop:], dtype=np.int64))
    assert (whole.cells, whole.largest_share) == (again.cells, again.largest_share)
    assert whole.largest_recent_share == again.largest_recent_share
    if cells:
        assert whole.largest_share == pytest.approx(max(map(cells.count, cells)) / len(cells))
        latest = cells[-7:]
        assert whole.largest_recent_share == pytest.approx(max(map(latest.count, latest)) / len(latest))


def test_a_cell_is_a_pair_of_labels() -> None:
    a = np.array([[0.9, 0.1, 0.0], [0.1, 0.1, 0.8], [0.4, 0.4, 0.2]], dtype=np.float32)
    b = np.array([[0.1, 0.9, 0.0], [0.9, 0.1, 0.0], [0.0, 0.5, 0.5]], dtype=np.float32)
    assert cells_of(a, b).tolist() == [1, 6, 1]  # ties go to the lowest label


@given(st.lists(st.integers(-1, 3), max_size=30), st.integers(1, 4))
def test_a_quota_lets_the_first_of_each_cell_through(cells: list[int], quota: int) -> None:
    expected = [cell >= 0 and cells[:place].count(cell) >= quota for place, cell in enumerate(cells)]
    assert beyond_quota(np.array(cells, dtype=np.int64), quota).tolist() == expected


@given(st.lists(st.integers(-1, 3), max_size=30), st.integers(1, 20), st.integers(1, 4))
def test_a_full_cell_gives_way_to_waiting_triggers_only(cells: list[int], room: int, quota: int) -> None:
    taken = balanced(np.array(cells, dtype=np.int64), room, quota).tolist()
    assert len(set(taken)) == len(taken) == min(room, len(cells))
    first = range(min(room, len(cells)))
    assert {row for row in first if cells[row] < 0} <= set(taken)
    assert all(cells[row] >= 0 for row in taken if row >= room)
    within = {cell: [row for row in taken if cells[row] == cell] for cell in range(4)}
    crowded = any(len(rows) > quota for rows in within.values())
    waits = any(cells[row] >= 0 and row not in taken and len(within[cells[row]]) < quota for row in range(len(cells)))
    assert not (crowded and waits)
