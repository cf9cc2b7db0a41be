"""Samples in turn of every kind."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from diffgan.selection.kinds import in_turn

KINDS = np.array([5] * 90 + [3] * 7 + [8] * 2 + [1])


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (4, {5: 1, 3: 1, 8: 1, 1: 1}),
        (7, {5: 2, 3: 2, 8: 2, 1: 1}),
        (20, {5: 10, 3: 7, 8: 2, 1: 1}),
        (100, {5: 90, 3: 7, 8: 2, 1: 1}),
        (1000, {5: 90, 3: 7, 8: 2, 1: 1}),
    ],
)
def test_rare_kinds_come_first_and_large_ones_fill_up(count: int, expected: dict[int, int]) -> None:
    rows = in_turn(KINDS, count, np.random.default_rng(0))
    assert (np.diff(rows) > 0).all()
    assert Counter(KINDS[rows].tolist()) == expected


def test_the_lot_decides_within_a_kind_and_between_kinds() -> None:
    samples = [in_turn(KINDS, 2, np.random.default_rng(seed)).tolist() for seed in range(300)]
    assert samples[0] == in_turn(KINDS, 2, np.random.default_rng(0)).tolist()
    first = Counter(row for sample in samples for row in sample)
    assert first[99] == pytest.approx(150, abs=40)  # two of the four kinds have a place
    assert len(first) > 60


def test_nothing_gives_nothing() -> None:
    assert in_turn(KINDS[:0], 3, np.random.default_rng(0)).tolist() == []
