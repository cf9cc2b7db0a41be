"""`diffgan bench`: strategies under one protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import print_json, print_note, print_table, stray_output_aside

if TYPE_CHECKING:
    from diffgan.bench.cells import Cell
    from diffgan.bench.rows import Row
    from diffgan.bench.tables import Results


def bench(
    study: Annotated[str, typer.Argument(metavar="STUDY", help="A YAML file, or the name of a study of diffgan's.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The results' folder; by default runs/bench/NAME.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the results as JSON.")] = False,
) -> None:
    """Run what a study compares, cell by cell, and lay it side by side.

    What is done is kept: the same command goes on after Ctrl-C. Exit code 0: all cells are done. 1: some failed.
    2: a mistake in the call or the study. 130: interrupted.
    """
    from diffgan.bench.files import write_results
    from diffgan.bench.running import bench as run_bench
    from diffgan.bench.study_files import read_study
    from diffgan.bench.tables import results_of

    with stray_output_aside():
        asked = read_study(study)
        folder = out or Path("runs") / "bench" / asked.name
        with _telling() as teller:
            made = run_bench(asked, folder, teller)
        results = results_of(made)
        written = write_results(results, folder)
    if as_json:
        print_json(results.as_json())
    else:
        show(results)
    if made.others:
        print_note(f"{made.others} rows in {folder} belong to no cell of this study, and are left out.")
    print_note("Written: " + ", ".join(map(str, written)))
    for row in made.failed:
        print_note(f"Failed: {row['cell']}: {row['error']}")
    if made.interrupted:
        print_note(f"Stopped; {len(made.done)} of {made.cells} cells are done and kept: the same command goes on.")
        raise typer.Exit(130)
    if made.failed:
        print_note(f"{len(made.failed)} of {made.cells} cells failed: the same command tries them again.")
        raise typer.Exit(1)


def show(results: Results) -> None:
    """The result for people, as far as it fits a terminal; the files have all of it."""
    from diffgan.bench.wording import brief_of, comparisons_of, title_of

    for block in results.blocks:
        for table in (brief_of(results, block), comparisons_of(results, block)):
            if table.lines:
                print_table(f"{title_of(block)}: {table.title}", table.head, table.lines)


class _Teller:
    """A line a cell; at a terminal also a bar below, which moves within a cell."""

    def __init__(self, bar: Callable[[str, float, float], None]) -> None:
        self._bar = bar

    def note(self, text: str) -> None:
        print_note(text)

    def going(self, cell: Cell, done: float, cells: int) -> None:
        self._bar(cell.key, done, cells)

    def over(self, row: Row, *, place: int, cells: int, seconds_left: float) -> None:
        from diffgan.durations import show_duration

        left = f"; about {show_duration(seconds_left)} left" if place < cells else ""
        print_note(f"[{place}/{cells}] {row['cell']}: {_came_to(row)}{left}")


@contextmanager
def _telling() -> Iterator[_Teller]:
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    quiet = not console.is_terminal
    # Drawn twice a second: more would take time from the search that is measured.
    with Progress(*columns, console=console, transient=True, disable=quiet, refresh_per_second=2) as progress:
        task = progress.add_task("bench", total=None)
        yield _Teller(
            lambda name, done, cells: progress.update(task, description=escape(name), completed=done, total=cells)
        )


def _came_to(row: Row) -> str:
    if row["status"] != "done":
        return f"failed: {row['error']}"
    judged = f"DV {row['dv']:,}, {row['valid']:,} valid of " if "dv" in row else ""
    return f"{judged}{row['unique']:,} unique triggers, {row['evaluations']:,} images in {row['seconds']:.0f} s"
