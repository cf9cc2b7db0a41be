"""The time that requests have: a clock that tests can replace, and one deadline for all requests of a call."""

from __future__ import annotations

import threading
import time
from typing import Protocol


class Clock(Protocol):
    """Time, so that tests need not wait for it."""

    def now(self) -> float:
        """Seconds, from any start."""
        ...

    def sleep(self, seconds: float, stop: threading.Event) -> None:
        """Waits, or returns as soon as `stop` is set."""
        ...


class RealClock:
    """The clock on the wall."""

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float, stop: threading.Event) -> None:
        stop.wait(seconds)


class Round:
    """What the requests of one call share: the deadline, the order to stop, and the sockets to cut off by it.

    Timeouts of the HTTP library hold from one received byte to the next, so that a server which drips its answer
    could outlast any deadline: closing the sockets under the waiting threads ends that.
    """

    def __init__(self, seconds: float, clock: Clock, attempts: int | None) -> None:
        self.seconds = seconds
        self.attempts = attempts
        self.stop = threading.Event()
        self.trouble: str | None = None
        self.failure: BaseException | None = None
        self._clock = clock
        self._ends = clock.now() + seconds

    def left(self) -> float:
        """Seconds until the deadline."""
        return self._ends - self._clock.now()

    def fail(self, failure: BaseException) -> None:
        """Ends the round; only the first failure counts, since the others may follow from it."""
        if not self.stop.is_set():
            self.failure = failure
        self.stop.set()

    def pause(self, seconds: float) -> None:
        """Waits, unless the round is over."""
        self._clock.sleep(seconds, self.stop)

    def too_late(self) -> str:
        """What to say when the deadline is over."""
        why = f" (last trouble: it {self.trouble})" if self.trouble else ""
        return f"gave no answer within {self.seconds:.3g} s{why}: see that it is up, or raise the option deadline"
