"""Spans of time as people write them."""

from __future__ import annotations

import pytest

from diffgan.durations import parse_duration
from diffgan.errors import UsageError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("45", 45), ("4.5", 4.5), ("90s", 90), ("1.5m", 90), ("1h30m", 5400), ("1h30s", 3630), (" 2H ", 7200)],
)
def test_spans_are_in_seconds(text: str, seconds: float) -> None:
    assert parse_duration(text, "--budget") == seconds


@pytest.mark.parametrize("text", ["1h30", "30m5", "", "0", "0h", "m", "1h 30m", "-5", "1d"])
def test_what_could_mean_two_things_or_nothing_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--budget takes a time above 0, such as 90s, 15m or 1h30m"):
        parse_duration(text, "--budget")
