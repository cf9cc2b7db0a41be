"""`diffgan gan tune`: looks for the training settings that suit the data, and leaves the best generator."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import print_facts, print_note, print_table

if TYPE_CHECKING:
    from diffgan.gan_training.tuning import Outcome
    from diffgan.gan_training.tuning_results import TrialRow

#: Where neither a budget nor a number is given.
TRIALS = 20

#: Rows of the table that is printed.
SHOWN = 8


def tune(
    data: Annotated[str, typer.Option("--data", metavar="DATA", help="What to train on: the test set of the models.")],
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to make: it will be the generator.")],
    config: Annotated[
        str | None, typer.Option("--config", metavar="FILE|NAME", help="Where to start; by default, the data's.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option("--budget", metavar="TIME", help="In all, such as 1h; trials are cut to fit.")
    ] = None,
    trials: Annotated[
        int | None, typer.Option("--trials", min=1, help=f"In the whole study; {TRIALS} where nothing is given.")
    ] = None,
    storage: Annotated[
        str | None, typer.Option("--storage", metavar="URL", help="A database; by default, a journal in --out.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, help="Of trainings, scores and the values tried.")] = 0,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a study, or join one that is running.")] = False,
    device: Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")] = "auto",
) -> None:
    """Tune a GAN's training; run it in several terminals with --resume to share the work."""
    started = monotonic()
    from diffgan.cli.tuning_progress import live
    from diffgan.datasets import load_dataset
    from diffgan.durations import parse_duration
    from diffgan.gan_training.settings import read_settings
    from diffgan.gan_training.study import Plan, open_study
    from diffgan.gan_training.training import choose_device
    from diffgan.gan_training.tuning import Tuning, check_data
    from diffgan.gan_training.tuning_clock import Limits

    seconds = None if budget is None else parse_duration(budget, "--budget")
    if seconds is None and trials is None:
        trials = TRIALS
        print_note(f"Neither --budget nor --trials is given: {TRIALS} trials.")
    chosen = choose_device(device)
    dataset, base = load_dataset(data), read_settings(config, data)
    check_data(dataset, base, seed)
    _quiet_optuna()
    opened = open_study(out, Plan.of(dataset, base, seed), url=storage, resume=resume)
    if not opened.created:
        print_note(f"Going on with the study {opened.study.study_name}, {len(opened.study.trials)} trials so far.")
    limits = Limits(started, seconds, trials)
    try:
        with live(limits) as report:
            outcome = Tuning(dataset, base, out, opened, seed=seed, limits=limits, device=chosen, report=report).run()
    except KeyboardInterrupt:
        best = f"The best generator so far is in {out}; to" if (out / "card.json").exists() else "To"
        print_note(f"{best} go on, repeat the command with --resume.")
        raise
    _print_outcome(outcome, out, opened.storage, monotonic() - started)


def _print_outcome(outcome: Outcome, out: Path, storage: str, seconds: float) -> None:
    from diffgan.durations import show_duration
    from diffgan.gan_training.tuning_results import best_first, tells_nothing

    print_table(
        "The best trials (score: FID and KID in units of those of the plain images)",
        ["trial", "score", "FID", "KID", "rates ×10⁻³", "beta1", "batch", "width"],
        [_cells(row) for row in best_first(outcome.rows)[:SHOWN]],
    )
    states = [row.state for row in outcome.rows]
    facts: dict[str, object] = {
        "best": _said(outcome.best),
        "trials": ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states)),
        "gained": _gained(outcome),
        "time": show_duration(seconds),
        "look at": "samples.png, trials.csv and plots in it",
    }
    if outcome.best_trial is not None and tells_nothing(outcome.best_trial):
        facts["but"] = "trials were too short to tell settings apart: give a longer --budget, or more steps"
    if not outcome.here:
        facts["note"] = f"the best trial was trained elsewhere: {out} has the best of this folder"
    print_facts(f"The tuned generator, in {out}", facts)
    # Not in the table: a long path would be folded, and could not be copied.
    sys.stdout.write(f"To see the study: optuna-dashboard {storage}\n")


def _said(row: TrialRow) -> str:
    updates = "" if row.updates is None else f", {row.updates:,} updates"
    if row.kind == "final":
        return f"{row.number}, the long training{updates}"
    return f"trial {row.number}{updates}"


def _gained(outcome: Outcome) -> str:
    """By the settings alone: the long training gained by its length, too."""
    from diffgan.gan_training.tuning_results import tells_nothing

    best, plain = outcome.best_trial, outcome.configured
    if best is None or plain is None:
        return "unknown: the settings as configured were not tried to the end"
    if tells_nothing(best):
        return "unknown: see below"
    if best.number == plain.number:
        return "nothing: no trial beat the settings as configured"
    return (
        f"FID {_figure(plain.fid)} → {_figure(best.fid)}, KID {_figure(plain.kid)} → {_figure(best.kid)} "
        f"from the settings as configured to those of trial {best.number}"
    )


def _cells(row: TrialRow) -> list[object]:
    name = {"trial": f"{row.number}", "configured": f"{row.number} configured", "final": f"{row.number} long"}[row.kind]
    point = row.point
    rates = f"{1e3 * point['generator_rate']:.2g}, {1e3 * point['discriminator_rate']:.2g}"
    widths = f"{point['width']}, {point['discriminator_width']}"
    scores = [_figure(row.value), _figure(row.fid), _figure(row.kid)]
    return [name, *scores, rates, f"{point['beta1']:.2f}", point["batch"], widths]


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def _quiet_optuna() -> None:
    """Its log has a line for every event; ours has one for every trial."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
