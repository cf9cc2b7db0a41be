"""What a training shows while it runs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from diffgan.gan_training.training import Progress

#: Seconds between two plain lines, where there is no terminal.
_EVERY = 5.0


@contextmanager
def live() -> Iterator[Callable[[Progress], None]]:
    """A bar on a terminal, and a plain line every few seconds elsewhere."""
    from rich.console import Console

    console = Console(stderr=True)
    if console.is_terminal:
        with _bar(console) as report:
            yield report
    else:
        yield _plain()


@contextmanager
def _bar(console: object) -> Iterator[Callable[[Progress], None]]:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("training"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[losses]}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:  # type: ignore[arg-type]
        task = bar.add_task("training", total=None, losses="")

        def report(now: object) -> None:
            bar.update(task, completed=now.step, total=now.steps, losses=_losses(now))  # type: ignore[attr-defined,arg-type]

        yield report


def _plain() -> Callable[[Progress], None]:
    from diffgan.durations import show_duration

    last = monotonic()

    def report(now: Progress) -> None:
        nonlocal last
        if monotonic() - last >= _EVERY:
            last = monotonic()
            left = now.seconds / now.step * (now.steps - now.step)
            line = f"update {now.step:,} of {now.steps:,}, {_losses(now)}, {show_duration(left)} left\n"
            sys.stderr.write(line)

    return report


def _losses(now: Progress) -> str:
    return f"loss D {now.losses.discriminator:.2f} G {now.losses.generator:.2f}"
