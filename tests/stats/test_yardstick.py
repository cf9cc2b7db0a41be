"""DV and its parts on an example small enough to count by hand, and the curve at marks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from diffgan.errors import DataError
from diffgan.stats import JudgedTriggers, Measurement, Space, Yardstick, measure

# Seven triggers. 2 is a copy of 0; 1 is not valid; 4 points almost the way of 0 (distance 1 - 4/√17 = 0.0299, under
# the threshold of 0.1). So unique are 0 1 3 4 5 6 (six), valid 0 3 4 5 6 (five), distinct 0 3 5 6 (four).
VECTORS = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [1, 0, 0, 0], [0, 1, 0, 0], [4, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
IDS = np.array([10, 11, 10, 13, 14, 15, 16])
VALID = np.array([True, False, True, True, True, True, True])
JUDGED = np.array([3, 3, 3, 8, 3, 7, 2])
LABEL_A = np.array([3, 3, 3, 3, 5, 3, 3])
LABEL_B = np.array([8, 8, 8, 8, 3, 8, 2])
# Cells of the valid: (3,8) (5,3) (3,2), three. Of the DV: (3,8) by 0, 3 and 5, (3,2) by 6: the largest has 3/4.
# Right on the DV: on 0 A only, on 3 B only, on 5 neither (7), on 6 B only: exactly one on three.
SPACES = [Space(VECTORS, 0.1)]


def example(count: int = 7) -> JudgedTriggers:
    return JudgedTriggers(IDS[:count], VALID[:count], JUDGED[:count], LABEL_A[:count], LABEL_B[:count])


def test_golden_yardstick() -> None:
    result = measure(example(), SPACES)
    assert result.counted.tolist() == [0, 3, 5, 6]
    assert result.yardstick == Yardstick(
        triggers=7,
        unique=6,
        valid=5,
        share_valid=5 / 6,
        dv=4,
        cells=3,
        largest_cell_share=3 / 4,
        exactly_one_right=3,
    )


def test_the_number_of_triggers_found_may_exceed_those_kept() -> None:
    figures = measure(example(), SPACES, found=90).yardstick
    assert (figures.triggers, figures.unique, figures.dv) == (90, 6, 4)
    with pytest.raises(DataError, match="7 triggers were given, but only 6"):
        measure(example(), SPACES, found=6)


def test_what_is_not_valid_rules_nobody_out() -> None:
    triggers = JudgedTriggers(IDS, ~VALID, JUDGED, LABEL_A, LABEL_B)
    assert measure(triggers, SPACES).counted.tolist() == [1]


def test_nothing_found_is_no_error() -> None:
    result = measure(example(0), [Space(VECTORS[:0], 0.1)])
    assert result.yardstick == Yardstick(0, 0, 0, None, 0, 0, None, 0)
    assert result.dv_at([], [10, 30]) == (0, 0)


def test_dv_at_marks_counts_what_was_found_by_then() -> None:
    # The counted ones 0, 3, 5, 6 were found at 1, 10, 31 and 59 seconds; the run ended at 61.
    result = measure(example(), SPACES)
    seconds = [1, 2, 3, 10, 10, 31, 59]
    assert result.dv_at(seconds, [0.5, 10, 30, 60, 120], end=61) == (0, 2, 2, 4, None)
    assert result.dv_at(seconds, [120]) == (4,)


@settings(deadline=None)
@given(arrays(np.uint8, (12, 3), elements=st.integers(0, 3)), arrays(np.int64, 12, elements=st.integers(0, 5)))
def test_dv_at_a_mark_is_the_dv_of_what_was_found_by_then(vectors: NDArray[np.uint8], gaps: NDArray[np.int64]) -> None:
    def measured(count: int) -> Measurement:
        flat = np.zeros(count, dtype=np.int64)
        triggers = JudgedTriggers(np.arange(count), np.ones(count, dtype=np.bool_), flat, flat, flat + 1)
        return measure(triggers, [Space(vectors[:count], 0.05)])

    queries = np.cumsum(gaps)
    marks = [0, 5, 20, 60]
    repacked = tuple(measured(int(np.count_nonzero(queries <= mark))).yardstick.dv for mark in marks)
    assert measured(12).dv_at(queries, marks) == repacked


def test_times_that_do_not_fit_are_refused() -> None:
    result = measure(example(), SPACES)
    with pytest.raises(DataError, match="3 times of discovery came for 7"):
        result.dv_at([1, 2, 3], [10])
    with pytest.raises(DataError, match="go backwards"):
        result.dv_at([1, 2, 3, 4, 5, 6, 5], [10])
    with pytest.raises(DataError, match="1 values that are NaN"):
        result.dv_at([1, 2, 3, 4, 5, 6, float("nan")], [10])


def test_arrays_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match=r"label_b \(6,\)"):
        JudgedTriggers(IDS, VALID, JUDGED, LABEL_A, LABEL_B[:6])
    with pytest.raises(DataError, match="3 vectors for 7 triggers"):
        measure(example(), [Space(VECTORS[:3], 0.1)])
