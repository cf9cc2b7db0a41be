"""Where the time of a search goes: each moment counts for one part, the innermost that is being measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter


class Stopwatch:
    """Adds up the seconds of named parts; what is measured within another part does not count for that one."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._within: list[str] = []
        self._since = 0.0

    @contextmanager
    def measure(self, name: str) -> Iterator[None]:
        """Counts the time inside for a part."""
        self._turn()
        self._within.append(name)
        try:
            yield
        finally:
            self._turn()
            self._within.pop()

    def shares(self, total: float, names: tuple[str, ...]) -> dict[str, float]:
        """Each part's share of a total, and what is left as `other`."""
        if total <= 0:
            return {**dict.fromkeys(names, 0.0), "other": 0.0}
        parts = {name: min(1.0, self.seconds.get(name, 0.0) / total) for name in names}
        return {**parts, "other": max(0.0, 1.0 - sum(parts.values()))}

    def _turn(self) -> None:
        now = perf_counter()
        if self._within:
            self.seconds[self._within[-1]] += now - self._since
        self._since = now
