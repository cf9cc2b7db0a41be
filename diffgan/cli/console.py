"""What every command prints with: one look, and plain lines where there is no terminal."""

from __future__ import annotations

import io
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Forgiving(io.TextIOWrapper):
    """An output whose reader (head, grep -q) may go: what is said then is lost, and the command comes to its own
    end, with its own exit code."""

    @classmethod
    def instead_of(cls, stream: io.TextIOWrapper) -> Forgiving:
        """The same output; the other stream must not be used any more."""
        encoding, at_once, through = stream.encoding, stream.line_buffering, stream.write_through
        return cls(stream.detach(), encoding=encoding, line_buffering=at_once, write_through=through)

    def write(self, text: str, /) -> int:
        """As ever; all of it is taken."""
        try:
            return super().write(text)
        except BrokenPipeError:
            self._forget()
            return len(text)

    def flush(self) -> None:
        """As ever."""
        try:
            super().flush()
        except BrokenPipeError:
            self._forget()

    def _forget(self) -> None:
        # Also keeps the interpreter from saying it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())


def percent(share: float) -> str:
    """A share as people read it.

    Example:
        >>> percent(0.9925)
        '99.25 %'
    """
    return f"{100 * share:.2f} %"


def printable(value: object) -> str:
    """A text that came from a file, without what would steer a terminal.

    Example:
        >>> printable("cat\\x1b[31m")
        'cat�[31m'
    """
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in str(value))


def print_json(content: Mapping[str, Any]) -> None:
    """Machine-readable output, on standard output."""
    ascii_only = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    sys.stdout.write(json.dumps(content, indent=2, ensure_ascii=ascii_only) + "\n")


@contextmanager
def stray_output_aside() -> Iterator[None]:
    """What models and their runtimes print goes to standard error, so that standard output is the result alone."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def print_facts(title: str, facts: Mapping[str, Any]) -> None:
    """A titled list of facts."""
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(show_header=False, box=None, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts.items():
        table.add_row(escape(printable(name)), escape(printable(value)))
    console = Console(highlight=False, soft_wrap=False)
    console.print(f"[bold]{escape(printable(title))}[/bold]")
    console.print(table)


def print_table(title: str, header: list[str], rows: list[list[Any]]) -> None:
    """A titled table; all columns but the first are right-aligned."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for number, name in enumerate(header):
        table.add_column(escape(name), justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(printable(cell)) for cell in row))
    console = Console(highlight=False)
    console.print(f"[bold]{escape(printable(title))}[/bold]")
    console.print(table)


def print_note(text: str) -> None:
    """A remark beside the result, on standard error."""
    sys.stderr.write(printable(text) + "\n")


@contextmanager
def progress(title: str, total: int) -> Iterator[Callable[..., None]]:
    """A progress bar on standard error; nothing where that is no terminal.

    Yields:
        What to call with how much is done, how much there is, and, where it is another, the title.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(title, total=total)
        yield lambda done, whole, now=title: bar.update(task, completed=done, total=whole, description=now)
