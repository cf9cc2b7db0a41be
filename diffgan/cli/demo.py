"""`diffgan demo`: the whole street on data that comes along."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffgan.cli.console import percent, print_note, stray_output_aside


def demo(
    out: Annotated[
        Path | None, typer.Option("--out", metavar="DIR", help="The folder to make; by default runs/demo-NNN.")
    ] = None,
    budget: Annotated[str, typer.Option("--budget", metavar="TIME", help="Of search.")] = "60s",
    data: Annotated[str, typer.Option("--data", metavar="NAME", help="What to show it on: digits.")] = "digits",
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of classifiers, generator and search.")] = 0,
) -> None:
    """Train two classifiers and a generator on digits, and find where the two disagree: some two minutes."""
    from diffgan import pipeline
    from diffgan.cli.compare import show
    from diffgan.cli.live import Terminal
    from diffgan.demo import DISTANCE, parts_of, train_classifiers, write_best
    from diffgan.durations import parse_duration
    from diffgan.errors import UsageError
    from diffgan.runs import next_folder

    parse_duration(budget, "--budget")
    _, test = parts_of(data)
    folder = out or next_folder(Path("runs"), "demo")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is there and not empty: give another --out.")
    with stray_output_aside():
        print_note(f"Training two classifiers on {data}:models …")
        trained = train_classifiers(data, folder / "models", seed)
        for one in trained:
            print_note(f"  {one.path.name}: {percent(one.accuracy)} of {len(test)} test images right")
        made = pipeline.compare(
            trained[0].path,
            trained[1].path,
            data=f"{data}:test",
            budget=budget,
            watcher=Terminal(),
            out=folder / "run",
            min_distance=DISTANCE,
            seed=seed,
        )
        pictured = write_best(made.folder / "archive.db", made.folder / "best.png")
    show(made)
    if pictured:
        print_note(f"Look at the {pictured} most divergent of those kept, kind by kind: {made.folder / 'best.png'}")
    if made.summary["ended_by"] == "stopped":
        raise typer.Exit(130)
