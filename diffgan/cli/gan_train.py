"""`diffgan gan train`: a GAN on the augmented data, or the one that was trained earlier."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import print_facts, print_note
from diffgan.cli.training_progress import live
from diffgan.errors import UsageError

if TYPE_CHECKING:
    from diffgan.generators.card import Card

Data = Annotated[str, typer.Option("--data", metavar="DATA", help="What to train on: the test set of the models.")]
Config = Annotated[
    str | None,
    typer.Option("--config", metavar="FILE|NAME", help="Settings over the data's own, such as 'lean'."),
]
Budget = Annotated[str | None, typer.Option("--budget", metavar="TIME", help="Such as 15m; by default, steps count.")]
Epochs = Annotated[int | None, typer.Option("--epochs", min=1, help="Times that the augmented data is gone through.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed and steps give the same generator.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the training in --out.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to make.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Train even where the same was trained earlier.")]


def train(
    data: Data,
    out: Out,
    config: Config = None,
    budget: Budget = None,
    epochs: Epochs = None,
    seed: Seed = 0,
    resume: Resume = False,
    device: Device = "auto",
    fresh: Fresh = False,
) -> None:
    """Train a GAN on the augmented data; a killed training goes on with --resume.

    A generator that was trained earlier on the same data, with the same settings, seed and steps or time, is taken
    from the cache.
    """
    from diffgan.datasets import load_dataset
    from diffgan.durations import parse_duration
    from diffgan.gan_training.augmentation import COPIES
    from diffgan.gan_training.cached import cache_key, remember, take_cached
    from diffgan.gan_training.data import hold_out
    from diffgan.gan_training.settings import read_settings
    from diffgan.gan_training.training import Training, choose_device
    from diffgan.generators.card import read_card

    if budget is not None and epochs is not None:
        raise UsageError("--budget and --epochs both say how long to train: give one of them.")
    dataset = load_dataset(data)
    settings = read_settings(config, data)
    if epochs is not None:
        kept = len(dataset) - len(hold_out(dataset.labels, seed))
        settings = settings.model_copy(update={"steps": max(1, epochs * COPIES * kept // settings.batch)})
    seconds = None if budget is None else parse_duration(budget, "--budget")
    training = Training(dataset, settings, out, seed=seed, budget=seconds, device=choose_device(device))
    key = cache_key(dataset, settings, seed=seed, budget=seconds)
    found = None if resume or fresh else take_cached(key, out)
    if found is not None:
        print_note(f"Using the generator trained earlier on {dataset.name} (cache: {found}); --fresh trains anew.")
        _print_result(read_card(out), out)
        return
    with live() as report:
        try:
            card = training.run(resume=resume, report=report)
        except KeyboardInterrupt:
            if (out / "checkpoint.safetensors").exists():
                print_note(f"The training can go on: repeat the command with --resume (in {out}).")
            raise
    remember(out, key)
    _print_result(card, out)


def _print_result(card: Card, out: Path) -> None:
    from diffgan.durations import show_duration

    print_facts(
        f"A generator for {card.data.name}, in {out}",
        {
            "network": f"{card.architecture.kind}, {'by class' if card.architecture.classes else 'without classes'}",
            "updates": f"{card.training['steps_done']:,} in {show_duration(card.training['seconds'])}",
            "look at": out / "samples.png",
        },
    )
