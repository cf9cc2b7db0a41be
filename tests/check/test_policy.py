"""Outcomes by hand, and when they fail a check."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diffgan.check.outcomes import INVALID, UNLABELLED, Answers, Outcome
from diffgan.check.policy import (
    Policy,
    fails_in_search,
    fails_in_suite,
    read_allowed,
    remarks_on_allowed,
    weigh,
)
from diffgan.errors import DataError, UsageError


def answers(*rows: tuple[int, int, int]) -> Answers:
    """Of (label, old, new), with ids from 1."""
    columns = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return Answers(np.arange(1, len(rows) + 1), *columns)


def many(regressions: int, fixes: int, agreed: int) -> Answers:
    return answers(*[(0, 0, 1)] * regressions, *[(0, 1, 0)] * fixes, *[(0, 0, 0)] * agreed)


def test_every_row_has_one_outcome() -> None:
    said = answers(
        (0, 0, 1),
        (0, 1, 0),
        (0, 1, 2),
        (0, 1, 1),
        (0, 0, 0),
        (UNLABELLED, 0, 1),
        (UNLABELLED, 1, 1),
        (INVALID, 0, 1),
        (INVALID, 0, 0),
    )
    counts = said.counts()
    assert counts == {
        Outcome.REGRESSION: 1,
        Outcome.FIX: 1,
        Outcome.BOTH_WRONG: 2,
        Outcome.UNLABELLED: 1,
        Outcome.INVALID: 1,
        Outcome.AGREED: 3,
    }
    assert sorted(row for outcome in Outcome for row in said.rows(outcome).tolist()) == list(range(9))


@pytest.mark.parametrize(
    ("regressions", "fixes", "fails"),
    [(0, 0, False), (55, 1251, False), (5, 0, False), (6, 0, True), (1251, 55, True), (30, 30, False)],
)
def test_by_default_the_new_model_may_not_be_significantly_worse(regressions: int, fixes: int, fails: bool) -> None:
    # Exact: 2 · 0.5⁵ = 0.0625 and 2 · 0.5⁶ = 0.03125.
    assert weigh(Policy(), many(regressions, fixes, 100)).failed is fails


def test_a_greatest_rate_takes_the_place_of_that() -> None:
    # Of 100 images at 1 %: P(X ≥ 3) = 0.079, P(X ≥ 4) = 0.018.
    policy = Policy(max_rate=0.01)
    assert not weigh(policy, many(3, 0, 97)).failed
    assert weigh(policy, many(4, 90, 6)).failed
    assert weigh(Policy(max_rate=0.0), many(1, 50, 49)).failed
    assert not weigh(Policy(max_rate=0.0), many(0, 0, 49)).failed


def test_a_suite_fails_on_what_is_not_allowed() -> None:
    said = answers((0, 0, 1), (0, 0, 2), (UNLABELLED, 0, 1))
    assert fails_in_suite(Policy(), said) == [1, 2]
    assert fails_in_suite(Policy(allow=frozenset({1})), said) == [2]


def test_the_search_fails_only_beyond_a_limit() -> None:
    assert not fails_in_search(Policy(), many(50, 0, 0))
    assert not fails_in_search(Policy(max_regressions=2), many(2, 0, 0))
    assert fails_in_search(Policy(max_regressions=2), many(3, 0, 0))
    assert not fails_in_search(Policy(max_regressions=0), answers(*[(UNLABELLED, 0, 1)] * 9))
    two = answers((0, 0, 1), (0, 0, 2))
    assert fails_in_search(Policy(max_regressions=0, allow=frozenset({int(two.ids[0])})), two)
    assert not fails_in_search(Policy(max_regressions=0, allow=frozenset(two.ids.tolist())), two)


@pytest.mark.parametrize("given", [{"max_rate": 1.0}, {"max_rate": -0.1}, {"max_regressions": -1}])
def test_limits_out_of_range_are_refused(given: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="--max"):
        Policy(**given)  # type: ignore[arg-type]


def test_the_list_of_allowed_ids(tmp_path: Path) -> None:
    path = tmp_path / "allowed.txt"
    path.write_text("# ours\n\n0000000000000001  # a smudge\nFFFFFFFFFFFFFFFF\n", encoding="utf-8")
    assert read_allowed(path) == {1, -1}
    path.write_text("0000000000000001\nseven\n", encoding="utf-8")
    with pytest.raises(DataError, match="line 2"):
        read_allowed(path)
    with pytest.raises(UsageError, match="--allow"):
        read_allowed(tmp_path / "none.txt")


def test_what_is_allowed_in_vain_is_told() -> None:
    policy = Policy(allow=frozenset({1, 2, 99}))
    unknown, better = remarks_on_allowed(policy, [answers((0, 0, 1), (0, 0, 0))])
    assert unknown.startswith("0000000000000063 stands in --allow, but in no --suite")
    assert better.startswith("0000000000000002 stands in --allow, but regress")
    assert remarks_on_allowed(Policy(allow=frozenset({1})), [answers((0, 0, 1))]) == []
