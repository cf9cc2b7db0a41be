"""What a tuning shows while it runs: a line for each trial, and a bar on terminals."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from diffgan.cli.console import printable

if TYPE_CHECKING:
    from diffgan.gan_training.training import Progress
    from diffgan.gan_training.tuning_clock import Limits
    from diffgan.gan_training.tuning_results import TrialRow
    from diffgan.gan_training.tuning_share import TuningReport

#: Seconds between two plain lines about one trial, where there is no terminal.
_EVERY = 30.0


@contextmanager
def live(limits: Limits) -> Iterator[TuningReport]:
    """A bar on a terminal, plain lines elsewhere; both on standard error."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Plain()
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[told]}"), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        yield _Bar(bar, limits)


class _Plain:
    def __init__(self) -> None:
        self._last = monotonic()

    def preparing(self, done: int, whole: int) -> None:
        if done == 1:
            self.note(f"training the classifier whose features are compared, {whole:,} updates")

    def training(self, name: str, progress: Progress) -> None:
        if monotonic() - self._last >= _EVERY:
            self.note(f"{name}: {_updates(progress)}")

    def finished(self, row: TrialRow) -> None:
        self.note(_line(row))

    def note(self, text: str) -> None:
        self._last = monotonic()
        sys.stderr.write(printable(text) + "\n")


class _Bar:
    """Over the time where that is limited, else over the trials."""

    def __init__(self, bar: Any, limits: Limits) -> None:
        self._bar, self._limits = bar, limits
        self._done = 0
        self._task = bar.add_task("preparing", total=limits.budget or limits.trials, told="")

    def preparing(self, done: int, whole: int) -> None:
        self._show("preparing", f"classifier {done / whole:.0%}", 0.0)

    def training(self, name: str, progress: Progress) -> None:
        self._show(name, _updates(progress), progress.step / progress.steps)

    def finished(self, row: TrialRow) -> None:
        self._done += 1
        self.note(_line(row))

    def note(self, text: str) -> None:
        self._bar.console.print(printable(text), markup=False, highlight=False)

    def _show(self, name: str, told: str, part: float) -> None:
        spent = monotonic() - self._limits.started if self._limits.budget is not None else self._done + part
        self._bar.update(self._task, description=name, told=told, completed=spent)


def _updates(progress: Progress) -> str:
    return f"update {progress.step:,} of {progress.steps:,}"


def _line(row: TrialRow) -> str:
    name = {"configured": f"trial {row.number} (as configured)", "final": "the long training"}
    told = [f"{name.get(row.kind, f'trial {row.number}')}: {row.state}"]
    if row.state == "failed":
        told.append(row.reason)
    elif row.value is not None:
        told.append(f"score {row.value:.3f}")
    if row.fid is not None:
        told.append(f"FID {row.fid:.3f}")
    if row.seconds is not None:
        told.append(f"{row.seconds:.0f} s")
    return ", ".join(told)
