"""Ctrl-C at a time that suits: what is half done is finished first."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_deferred() -> Iterator[None]:
    """Within it, an interrupt waits for the end; only the main thread may take signals, and elsewhere nothing changes.

    Raises:
        KeyboardInterrupt: at the end, where one came.
    """
    # Python's own handler is the only one that would end the block: another one, or none, is somebody's choice.
    if threading.current_thread() is not threading.main_thread() or (
        signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        yield
        return
    came = False

    def remember(number: int, frame: FrameType | None) -> None:
        nonlocal came
        del number, frame
        came = True

    signal.signal(signal.SIGINT, remember)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if came:
        raise KeyboardInterrupt
