"""The search clock: seconds of search, over all the sittings of a run, and how many are left."""

from __future__ import annotations

from time import perf_counter


class SearchClock:
    """Stands still until it is started; without a limit, there is always time left.

    Args:
        limit: seconds that the search may take.
    """

    def __init__(self, limit: float | None = None) -> None:
        self._limit = limit
        self._before = 0.0
        self._started: float | None = None

    def start(self, before: float) -> None:
        """Goes on after so many seconds of earlier sittings."""
        self._before, self._started = before, perf_counter()

    @property
    def sitting(self) -> float:
        """Seconds since the start."""
        return 0.0 if self._started is None else perf_counter() - self._started

    @property
    def seconds(self) -> float:
        """Seconds of the whole run."""
        return self._before + self.sitting

    @property
    def left(self) -> float | None:
        """Seconds until the limit, at least 0; None: there is no limit."""
        return None if self._limit is None else max(0.0, self._limit - self.seconds)
