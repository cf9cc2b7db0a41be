"""What a run shows while it goes: a view that renews itself on a terminal, plain lines elsewhere."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from types import FrameType
from typing import TYPE_CHECKING, Any

from diffgan.cli import training_progress
from diffgan.cli.console import print_note, progress

if TYPE_CHECKING:
    from rich.console import RenderableType

    from diffgan.gan_training.training import Progress
    from diffgan.search.loop import Moment, Search

#: Seconds between two renewals of the view, and between two plain lines.
_RENEW, _LINE = 0.5, 5.0
#: A matrix of more classes than this would not fit: the greatest cells are listed instead.
_MOST_CLASSES, _GREATEST = 12, 10


class Terminal:
    """Tells a person at a terminal, or who reads the log, how a run goes."""

    def note(self, text: str) -> None:
        """A remark on standard error."""
        print_note(text)

    @contextmanager
    def training(self) -> Iterator[Callable[[Progress], None]]:
        """The bar of a training."""
        with training_progress.live() as report:
            yield report

    @contextmanager
    def searching(self, search: Search, classes: tuple[str, ...]) -> Iterator[Callable[[Moment], None]]:
        """The live view; Ctrl-C ends the search well, a second one now."""
        from rich.console import Console

        console = Console(stderr=True)
        with _stops(search):
            if not console.is_terminal:
                yield _plain()
                return
            from rich.live import Live

            with Live(console=console, transient=True, auto_refresh=False) as live:
                last = 0.0

                def watch(moment: Moment) -> None:
                    nonlocal last
                    if monotonic() - last >= _RENEW:
                        last = monotonic()
                        live.update(_view(moment, classes), refresh=True)

                yield watch

    @contextmanager
    def filtering(self) -> Iterator[Callable[[str, int, int], None]]:
        """A bar that names what is under way."""
        with progress("filters", 1) as bar:
            yield lambda name, done, total: bar(done, total, f"filters: {name}")


@contextmanager
def _stops(search: Search) -> Iterator[None]:
    """Only the main thread may take signals; elsewhere an interrupt ends the search at once, as Python has it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupted(number: int, frame: FrameType | None) -> None:
        del number, frame
        search.stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)
        print_note("Ending after this batch; Ctrl-C again ends it now.")

    former = signal.signal(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


def _plain() -> Callable[[Moment], None]:
    last = monotonic()

    def watch(moment: Moment) -> None:
        nonlocal last
        if monotonic() - last >= _LINE:
            last = monotonic()
            sys.stderr.write(_line(moment) + "\n")

    return watch


def _line(moment: Moment) -> str:
    spent = moment.spent
    finds = f"{moment.facts['finds']:,} finds, " if "finds" in moment.facts else ""
    return (
        f"{spent.evaluations:,} images ({spent.evaluations / max(spent.seconds, 1e-9):,.0f}/s), {spent.triggers:,} "
        f"triggers, {spent.unique:,} unique, {finds}{len(moment.disagreement)} kinds, {_left(moment)}"
    )


def _left(moment: Moment) -> str:
    from diffgan.durations import show_duration

    if moment.share <= 0:
        return "just begun"
    return f"{show_duration(moment.spent.seconds * (1 - moment.share) / moment.share)} left"


def _view(moment: Moment, classes: tuple[str, ...]) -> RenderableType:
    from rich.console import Group
    from rich.progress_bar import ProgressBar
    from rich.text import Text

    facts = ", ".join(f"{name} {_short(value)}" for name, value in moment.facts.items() if _is_small(value))
    parts: list[RenderableType] = [ProgressBar(total=1.0, completed=moment.share), Text(_line(moment))]
    if facts:
        parts.append(Text(facts, style="dim"))
    if moment.disagreement:
        parts.append(_matrix(moment, classes) if len(classes) <= _MOST_CLASSES else _greatest(moment, classes))
    return Group(*parts)


def _matrix(moment: Moment, classes: tuple[str, ...]) -> RenderableType:
    from rich.table import Table
    from rich.text import Text

    most = max(moment.disagreement.values())
    table = Table(title="label of A (rows), of B (columns)", title_style="dim", box=None, padding=(0, 1))
    table.add_column()
    for name in classes:
        table.add_column(name[:6], justify="right")
    for row, name in enumerate(classes):
        cells = [Text(name[:12], style="bold")]
        for column in range(len(classes)):
            count = moment.disagreement.get((row, column), 0)
            style = "bold red" if count > most / 2 else "yellow" if count > most / 10 else ""
            cells.append(Text(f"{count:,}" if count else "·", style=style if count else "dim"))
        table.add_row(*cells)
    return table


def _greatest(moment: Moment, classes: tuple[str, ...]) -> RenderableType:
    from rich.text import Text

    greatest = sorted(moment.disagreement.items(), key=lambda item: -item[1])[:_GREATEST]

    def name(label: int) -> str:
        return classes[label] if label < len(classes) else str(label)

    return Text("\n".join(f"{name(a)} → {name(b)}: {count:,}" for (a, b), count in greatest))


def _is_small(value: Any) -> bool:
    return isinstance(value, (int, float, str)) and not isinstance(value, bool)


def _short(value: Any) -> str:
    return f"{value:,.3g}" if isinstance(value, float) else f"{value:,}" if isinstance(value, int) else str(value)
