"""`diffgan report`: a run as one HTML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffgan.cli.console import print_note, stray_output_aside


def report(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    out: Annotated[
        Path | None, typer.Option("--out", metavar="FILE", help="The file to write; by default RUN/report.html.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option("--compare", metavar="RUN2", help="Another run, to stand beside it.")
    ] = None,
    selector: Annotated[
        Path | None,
        typer.Option("--selector", metavar="DIR", help="The folder of a selector; by default RUN/selector."),
    ] = None,
) -> None:
    """Write what a run found as one HTML file that needs nothing else."""
    from diffgan.report import write_report

    with stray_output_aside():
        path = write_report(run, out=out, compare=compare, selector=selector)
    print_note(f"The report is in {path}")
