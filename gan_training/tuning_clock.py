"""How a tuning spends its time: setting up, trials, one long training with the best settings, and writing."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic

#: Of what is left after setting up, this much is for trials.
SEARCH_SHARE = 0.5

#: The time for trials is worth so many whole ones; as most are pruned, there will be two to three times as many.
FEW, MANY = 6, 10
_MANY_FROM = 1800.0

#: Seconds; in a very short budget, half the time for trials.
SHORTEST_TRIAL = 2.0

#: A trial may run on into the time of the long training by this share of itself.
_GRACE = 0.3

#: Seconds for table and plots, and at most this share of a short budget.
_WRITING, _MOST_WRITING = 3.0, 0.1

#: The long training is worth it if it is longer than a trial's by this factor.
_WORTH = 1.3


@dataclass(frozen=True)
class Limits:
    """When a tuning ends: at whatever comes first.

    Attributes:
        started: on the monotonic clock, when the budget began.
        budget: seconds in all, setting up and writing included.
        trials: in the whole study.
    """

    started: float
    budget: float | None
    trials: int | None


class Clock:
    """The plan of one process's time.

    Args:
        limits: when to end.
        scoring: seconds of one thorough score, as far as is known; the attribute may be set anew.
    """

    def __init__(self, limits: Limits, scoring: float) -> None:
        self._limits = limits
        self.scoring = scoring
        self.trial_seconds: float | None = None
        now, self._end, self._search_end = monotonic(), float("inf"), float("inf")
        if limits.budget is not None:
            writing = min(_WRITING, _MOST_WRITING * limits.budget)
            self._end = limits.started + limits.budget - writing
            self._search_end = now + SEARCH_SHARE * max(0.0, self._end - now)
        self._search_seconds = self._search_end - now

    def planned_trial_seconds(self) -> float | None:
        """The seconds of a whole trial's training; None: trials end by their updates."""
        if self._limits.budget is None:
            return None
        parts = FEW if self._limits.budget < _MANY_FROM else MANY
        if self._limits.trials is not None:
            parts = min(parts, self._limits.trials)
        shortest = min(SHORTEST_TRIAL, self._search_seconds / 2)
        return max(shortest, self._search_seconds / parts - 1.5 * self.scoring)

    def may_start(self, *, begun: int) -> bool:
        """Whether another trial may start, after so many have begun in the study."""
        if self._limits.trials is not None and begun >= self._limits.trials:
            return False
        if self._limits.budget is None:
            return True
        return self._search_end - monotonic() >= (self.trial_seconds or SHORTEST_TRIAL)

    def search_is_over(self) -> bool:
        """Whether even a trial that is running has to end."""
        return monotonic() > self._search_end + _GRACE * (self.trial_seconds or 0.0)

    def for_the_best(self, *, any_complete: bool) -> float | None:
        """Seconds for the long training; None where there is no time for one that is worth it."""
        if self._limits.budget is None:
            return None
        seconds = self._end - monotonic() - 1.5 * self.scoring
        if not any_complete:
            # The folder has to have something in it, whatever the budget was.
            return max(seconds, 1.0)
        return seconds if seconds >= _WORTH * (self.trial_seconds or SHORTEST_TRIAL) else None
