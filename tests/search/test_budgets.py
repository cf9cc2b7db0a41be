"""Budgets: the first limit ends the search, and counted limits are met exactly."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from diffgan.search.budgets import Budget, Spent


@pytest.mark.parametrize(
    ("budget", "spent", "reached"),
    [
        (Budget(seconds=2), Spent(seconds=1.9, evaluations=10**6), None),
        (Budget(seconds=2), Spent(seconds=2.0), "seconds"),
        (Budget(evaluations=5), Spent(evaluations=5), "evaluations"),
        (Budget(queries=10), Spent(queries_a=5, queries_b=4), None),
        (Budget(queries=10), Spent(queries_a=5, queries_b=5), "queries"),
        (Budget(triggers=3), Spent(triggers=9, unique=2), None),
        (Budget(triggers=3, seconds=9), Spent(unique=3), "triggers"),
        (Budget(), Spent(seconds=10**6), None),
    ],
)
def test_the_first_limit_ends_it(budget: Budget, spent: Spent, reached: str | None) -> None:
    assert budget.reached(spent) == reached


@given(st.integers(1, 5000), st.integers(0, 6000), st.integers(1, 600))
def test_there_is_never_room_beyond_the_limit(limit: int, done: int, size: int) -> None:
    room = Budget(evaluations=limit).room(Spent(evaluations=done), size)
    assert room == max(0, min(size, limit - done))
    both = Budget(queries=limit).room(Spent(queries_a=done // 2, queries_b=done // 2), size)
    assert both * 2 + done // 2 * 2 <= max(limit, done // 2 * 2)


def test_the_share_is_that_of_the_nearest_limit() -> None:
    budget = Budget(seconds=100, evaluations=1000)
    assert budget.share(Spent(seconds=10, evaluations=500)) == 0.5
    assert budget.share(Spent(seconds=1000)) == 1.0
    assert Budget().share(Spent(seconds=5)) == 0.0


@pytest.mark.parametrize("limits", [{"seconds": 0}, {"evaluations": -1}, {"queries": 0}, {"triggers": 0}])
def test_a_limit_of_nothing_is_refused(limits: dict[str, float]) -> None:
    with pytest.raises(ValidationError):
        Budget.model_validate(limits)
