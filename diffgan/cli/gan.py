"""`diffgan gan`: training generators, and looking at what they make."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import print_facts, print_note
from diffgan.drafts import replacing
from diffgan.errors import UsageError

if TYPE_CHECKING:
    from diffgan.gan_training.training import Progress

app = typer.Typer(help="Train generators on labelled images, and look at what they make.", no_args_is_help=True)

Data = Annotated[str, typer.Option("--data", metavar="DATA", help="What to train on: the test set of the models.")]
Config = Annotated[str | None, typer.Option("--config", metavar="FILE|NAME", help="Settings; by default, the data's.")]
Budget = Annotated[str | None, typer.Option("--budget", metavar="TIME", help="Such as 15m; by default, steps count.")]
Epochs = Annotated[int | None, typer.Option("--epochs", min=1, help="Times that the augmented data is gone through.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed and steps give the same generator.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the training in --out.")]
Out = Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder to make.")]
Device = Annotated[str, typer.Option("--device", help="auto, cpu, cuda or mps.")]

#: Seconds between two plain lines, where there is no terminal.
_EVERY = 5.0


@app.command("train")
def train(
    data: Data,
    out: Out,
    config: Config = None,
    budget: Budget = None,
    epochs: Epochs = None,
    seed: Seed = 0,
    resume: Resume = False,
    device: Device = "auto",
) -> None:
    """Train a GAN on the augmented data; a killed training goes on with --resume."""
    from diffgan.datasets import load_dataset
    from diffgan.durations import parse_duration, show_duration
    from diffgan.gan_training.augmentation import COPIES
    from diffgan.gan_training.settings import read_settings
    from diffgan.gan_training.training import Training, choose_device

    if budget is not None and epochs is not None:
        raise UsageError("--budget and --epochs both say how long to train: give one of them.")
    dataset = load_dataset(data)
    settings = read_settings(config, data)
    if epochs is not None:
        settings = settings.model_copy(update={"steps": max(1, epochs * COPIES * len(dataset) // settings.batch)})
    seconds = None if budget is None else parse_duration(budget, "--budget")
    training = Training(dataset, settings, out, seed=seed, budget=seconds, device=choose_device(device))
    with _live() as report:
        try:
            card = training.run(resume=resume, report=report)
        except KeyboardInterrupt:
            if (out / "checkpoint.safetensors").exists():
                print_note(f"The training can go on: repeat the command with --resume (in {out}).")
            raise
    print_facts(
        f"A generator for {dataset.name}, in {out}",
        {
            "network": f"{card.architecture.kind}, {'by class' if card.architecture.classes else 'without classes'}",
            "updates": f"{card.training['steps_done']:,} in {show_duration(card.training['seconds'])}",
            "look at": out / "samples.png",
        },
    )


@app.command("sample")
def sample(
    generator: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="A generator.")],
    count: Annotated[int, typer.Option("--count", min=1, help="How many images.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.npz|FILE.png", help="The file to write.")],
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same images.")] = 0,
) -> None:
    """Write images from a generator's prior: an npz with latents (and classes), or a picture."""
    import numpy as np

    from diffgan.generators.generator import load_generator

    form = out.suffix.lower()
    if form not in (".npz", ".png"):
        raise UsageError(f"--out takes a file that ends in .npz or .png, not {out}.")
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {out.parent} to write {out.name} to: make it first.")
    images, latents, classes = load_generator(generator).sample(count, np.random.default_rng(seed))
    if form == ".png":
        from diffgan.gan_training.pictures import write_grid

        write_grid(out, images)
    else:
        with replacing(out) as draft, draft.open("wb") as file:
            if classes is None:
                np.savez_compressed(file, images=images, latents=latents)
            else:
                np.savez_compressed(file, images=images, latents=latents, labels=classes)
    print_note(f"{count:,} image{'' if count == 1 else 's'} written to {out}")


@contextmanager
def _live() -> Iterator[Callable[[Progress], None]]:
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
