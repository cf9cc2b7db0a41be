"""Optuna's journal in a file, so that a kill or a full disk in the middle of a line does not spoil it."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock


class WholeLinesJournal(JournalFileBackend):
    """Appends whole lines or nothing; half a line that a killed process left at the end is cut off first.

    Args:
        path: the file.
    """

    def __init__(self, path: Path) -> None:
        self._journal = path
        # Optuna's other lock is a symbolic link, which not every system lets everybody make.
        self._held = JournalFileOpenLock(str(path))
        super().__init__(str(path), lock_obj=self._held)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Appends entries, one a line.

        Raises:
            OSError: the disk refuses; the file is as it was.
        """
        lines = b"".join(json.dumps(log, separators=(",", ":")).encode() + b"\n" for log in logs)
        self._held.acquire()
        try:
            with self._journal.open("r+b", buffering=0) as file:
                end = _end_of_whole_lines(file)
                file.truncate(end)
                file.seek(end)
                try:
                    # A write that a full disk cuts short says so only when the rest is tried.
                    while file.tell() - end < len(lines):
                        file.write(lines[file.tell() - end :])
                    os.fsync(file.fileno())
                except OSError:
                    file.truncate(end)
                    raise
        finally:
            self._held.release()


def _end_of_whole_lines(file: Any) -> int:
    """Just behind the last line break."""
    end: int = file.seek(0, os.SEEK_END)
    while end:
        start = max(0, end - 4096)
        file.seek(start)
        place = file.read(end - start).rfind(b"\n")
        if place >= 0:
            return start + int(place) + 1
        end = start
    return 0
