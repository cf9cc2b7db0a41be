"""Spans of time as people write them."""

from __future__ import annotations

import re

from diffgan.errors import UsageError

_NUMBER = r"\d+(?:\.\d+)?"
#: A number alone is of seconds; behind another unit, as in 1h30, it could be of any.
_PARTS = re.compile(rf"(?:(?P<h>{_NUMBER})h)?(?:(?P<m>{_NUMBER})m)?(?:(?P<s>{_NUMBER})s)?|(?P<bare>{_NUMBER})")


def parse_duration(text: str, flag: str) -> float:
    """Seconds in `90s`, `15m`, `1h30m` or `45` (seconds).

    Raises:
        UsageError: it is none of these, or nothing.

    Example:
        >>> parse_duration("1h30m", "--budget")
        5400.0
    """
    match = _PARTS.fullmatch(text.strip().lower())
    seconds = 0.0
    if match is not None:
        parts = {unit: float(value) for unit, value in match.groupdict().items() if value}
        seconds = parts.get("h", 0) * 3600 + parts.get("m", 0) * 60 + parts.get("s", 0) + parts.get("bare", 0)
    if not seconds > 0:
        raise UsageError(f"{flag} takes a time above 0, such as 90s, 15m or 1h30m, not {text!r}.")
    return seconds


def show_duration(seconds: float) -> str:
    """The same in short.

    Example:
        >>> [show_duration(span) for span in (9.4, 75, 5400)]
        ['9 s', '1:15 min', '1:30 h']
    """
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes}:{rest:02} min"
    return f"{minutes // 60}:{minutes % 60:02} h"
