"""`diffgan filter`: which triggers of a run are valid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import percent, print_facts, print_note, print_table, stray_output_aside

if TYPE_CHECKING:
    from diffgan.filters.chain import Stage


def filter_(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    calibrate: Annotated[
        bool,
        typer.Option("--calibrate", help="Find thresholds from the run's labels; say how many are valid."),
    ] = False,
    target: Annotated[
        str | None,
        typer.Option(
            "--target", metavar="RULE", help="What --calibrate aims at: precision:P, paper, or youden, the default."
        ),
    ] = None,
    discriminator: Annotated[
        Path | None, typer.Option("--discriminator", metavar="DIR", help="The folder of a GAN of the same data.")
    ] = None,
    references: Annotated[
        str | None,
        typer.Option("--references", metavar="DATA", help="Real images for the SSIM; by default what the GAN saw."),
    ] = None,
    data: Annotated[
        str | None, typer.Option("--data", metavar="DATA", help="The run's data, where it has moved.")
    ] = None,
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE|NAME", help="Settings: its section filters.")
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option("--threshold", metavar="NAME=X", help="In place of a filter's own; applies to stored scores."),
    ] = None,
) -> None:
    """Give verdicts on a run's triggers: which are valid, and why not. Nothing is deleted."""
    from diffgan.cli.live import Terminal
    from diffgan.errors import UsageError
    from diffgan.filters.running import FilterWishes, filter_run
    from diffgan.models.options import parse_assignments

    if target is not None and not calibrate:
        raise UsageError(f"--target {target} is what --calibrate aims at: give --calibrate, too, or leave it out.")
    thresholds = parse_assignments(threshold or [], "--threshold", example="ssim=0.4")
    for name, value in thresholds.items():
        if not isinstance(value, (int, float)):
            raise UsageError(f"The threshold of {name} is {value!r}; expected a number, as in --threshold ssim=0.4.")
    wishes = FilterWishes(
        config=config,
        discriminator=discriminator,
        references=references,
        data=data,
        thresholds={name: float(value) for name, value in thresholds.items()},
        target=("youden" if target is None else target) if calibrate else None,
    )
    with stray_output_aside(), Terminal().filtering() as report:
        done = filter_run(run, wishes, watch=report)
    for note in done.notes:
        print_note(note)
    for text in done.calibration:
        print_note(text)
    show(done.stages, done.triggers)


def show(stages: list[Stage], triggers: int) -> None:
    """What each filter came to, for people."""
    if not stages:
        print_note("There is no filter to run: see filters in the configuration.")
        return
    rows = [
        [stage.name, f"{stage.threshold:.3g}", f"{stage.before:,}", f"{stage.passed:,}", _share(stage)]
        for stage in stages
    ]
    print_table("Filters", ["filter", "threshold", "looked at", "passed", "share"], rows)
    kept = stages[-1].passed
    print_facts("Kept", {"triggers": f"{kept:,} of {triggers:,} ({percent(kept / triggers)})"})
    empty = next((stage for stage in stages if stage.before and not stage.passed), None)
    if empty is not None:
        few = empty.would_keep_a_few
        remedy = "" if few is None else f" --threshold {empty.name}={few:.4g} keeps 5 %."
        print_note(f"Nothing passes {empty.name}, whose threshold is {empty.threshold:.4g}.{remedy}")


def _share(stage: Stage) -> str:
    return percent(stage.passed / stage.before) if stage.before else ""
