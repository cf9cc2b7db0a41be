"""What every form of export is given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from diffgan.archive.store import Archive

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Plan:
    """One export: which triggers, how many, and whom to tell."""

    archive: Archive
    kept_only: bool
    rows: int
    progress: Progress | None

    def report(self, done: int, total: int) -> None:
        """Tells how many of the steps are done."""
        if self.progress is not None:
            self.progress(done, total)
