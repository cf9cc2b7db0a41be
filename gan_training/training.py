"""Trains a GAN: to the end of its steps or its time, with checkpoints, alarms, curves and samples on the way."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import torch

from diffgan._version import __version__
from diffgan.datasets import Dataset
from diffgan.errors import GeneratorError, UsageError
from diffgan.gan_training.alarms import Alarms
from diffgan.gan_training.checkpoint import Checkpoint, check_same_plan, read_checkpoint, write_checkpoint
from diffgan.gan_training.data import TrainingData
from diffgan.gan_training.interrupts import interrupts_deferred
from diffgan.gan_training.pictures import cut_metrics, write_curves, write_grid, write_page
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.trainer import Losses, Trainer
from diffgan.generators.architecture import Architecture
from diffgan.generators.artifact import read_discriminator, read_generator, write_artifact
from diffgan.generators.card import Card, DataCard

#: Updates between two checkpoints, and between two entries of the curves.
CHECKPOINT_EVERY, CURVE_EVERY = 500, 50

#: Under a time budget, the speed is taken from so many updates, after a few to warm up.
WARM_UP, MEASURED = 5, 40
#: What is left of the budget for writing the result.
MARGIN = 0.97

#: A generator by class needs at least so many images of a typical class.
FEWEST_OF_A_CLASS = 5

#: Samples in the picture, and samples that the alarms look at.
PICTURED, WATCHED = 100, 500

#: Checkpoints between two drawings of the curves.
CURVES_EVERY = 5


@dataclass(frozen=True)
class Progress:
    """Where a training stands: updates done, updates planned, seconds spent, and the last losses."""

    step: int
    steps: int
    seconds: float
    losses: Losses


def architecture_of(settings: TrainingSettings, dataset: Dataset) -> Architecture:
    """The networks that fit the data.

    Raises:
        GeneratorError: there are none for images of this size.
    """
    conditional = settings.conditional and _has_classes(dataset)
    try:
        plain = Architecture(
            kind=settings.kind,
            latent=settings.latent,
            image=dataset.spec.shape,
            classes=len(dataset.classes) if conditional else None,
            width=settings.width,
            discriminator_width=settings.discriminator_width,
        )
        # Small images have no room for a large patch.
        return Architecture(**plain.model_dump() | {"patch": min(settings.patch, 1 << plain.doublings)})
    except ValueError as error:
        reason = str(error).partition("Value error, ")[2].partition(" [")[0] or str(error)
        raise GeneratorError(f"No GAN can be trained on {dataset.name}: {reason}.") from error


def _has_classes(dataset: Dataset) -> bool:
    counts = dataset.counts()
    present = counts[counts > 0]
    # Of classes that have no image, images cannot be learned: most numbers may be of none, as in ten classes of 1,000.
    if len(present) < max(2, len(counts) / 2):
        return False
    typical = int(np.median(present))
    if typical < FEWEST_OF_A_CLASS:
        raise GeneratorError(
            f"{dataset.name} has {len(present)} classes of typically {typical} image{'' if typical == 1 else 's'}, too "
            f"few to learn them by class (expected at least {FEWEST_OF_A_CLASS}): give more images, or set "
            "conditional: false under gan in a configuration."
        )
    return True


def choose_device(name: str) -> torch.device:
    """`auto` takes a GPU where there is one.

    Raises:
        UsageError: the device that is asked for is not there.
    """
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if name == "auto":
        return torch.device(next(kind for kind, present in there.items() if present))
    if not there.get(name, False):
        known = ", ".join(kind for kind, present in there.items() if present)
        raise UsageError(f"There is no device {name} here; there is: {known} (or auto).")
    return torch.device(name)


def _begun_at_most(folder: Path) -> bool:
    """Whether there is nothing, or what a training leaves that was ended before its first checkpoint."""
    names = {entry.name for entry in folder.iterdir() if not (entry.name[:1] == "." and entry.name.endswith(".part"))}
    return names <= {"watch.html", "metrics.jsonl"} or (
        "watch.html" in names and names <= {"watch.html", "metrics.jsonl", "samples.png"}
    )


class Training:
    """One training in a folder of its own.

    Args:
        dataset: what to train on.
        settings: how.
        folder: where checkpoint, curves, samples and the result go.
        seed: of everything random.
        budget: seconds; the number of updates is planned from the speed of the first ones.
        device: where the networks are.
    """

    def __init__(
        self,
        dataset: Dataset,
        settings: TrainingSettings,
        folder: Path,
        *,
        seed: int = 0,
        budget: float | None = None,
        device: torch.device | None = None,
    ) -> None:
        self.folder = folder
        self._dataset, self._settings, self._seed, self._budget = dataset, settings, seed, budget
        self._device = device or torch.device("cpu")
        self._architecture = architecture_of(settings, dataset)
        self._data = TrainingData.of(dataset, seed)
        self._spent = 0.0
        self._plan: dict[str, Any] = {
            "data": dataset.fingerprint,
            "seed": seed,
            "budget": budget,
            **settings.model_dump(mode="json"),
            "precision": settings.precision_on(self._device),
        }

    def run(
        self,
        *,
        resume: bool = False,
        report: Callable[[Progress], None] = lambda _: None,
        after_update: Callable[[Trainer], None] = lambda _: None,
    ) -> Card:
        """Trains, and writes the artifact; Ctrl-C leaves a checkpoint to go on from.

        Args:
            resume: go on with the training in the folder.
            report: called after each update.
            after_update: called after each update, too; what it raises ends the training.

        Raises:
            GeneratorError: the training is hopeless, the disk refuses, or a checkpoint does not fit.
        """
        checkpoint = self._prepare(resume)
        trainer = self._trainer(checkpoint)
        over = checkpoint is not None and self._is_over(trainer)
        if over:
            with suppress(GeneratorError):
                read_discriminator(self.folder)
                return read_generator(self.folder)[1]  # made anew, it would lose its scores
        write_page(self.folder, live=True)
        started = perf_counter() - self._spent
        alarms = Alarms(self._data.images, self._data.labels)
        try:
            while not over and trainer.step_number < trainer.settings.steps:
                with interrupts_deferred():  # half an update is no state to go on from
                    losses = trainer.step()
                    self._spent = perf_counter() - started
                    alarms.on_losses(losses, trainer.step_number)
                    report(Progress(trainer.step_number, trainer.settings.steps, self._spent, losses))
                    self._after_step(trainer, losses, alarms)
                after_update(trainer)
                if self._budget is not None and self._spent >= self._budget:
                    break
        except KeyboardInterrupt:
            self._save(trainer)
            raise
        return self._finish(trainer)

    def _is_over(self, trainer: Trainer) -> bool:
        return trainer.step_number >= trainer.settings.steps or (
            self._budget is not None and self._spent >= self._budget
        )

    def _prepare(self, resume: bool) -> Checkpoint | None:
        checkpoint = read_checkpoint(self.folder) if resume else None
        if resume and checkpoint is None:
            raise GeneratorError(
                f"{self.folder} has no checkpoint to go on from: leave out --resume to start the training."
            )
        if checkpoint is not None:
            check_same_plan(checkpoint.plan, self._plan, self.folder)
            return checkpoint
        if self.folder.exists() and (not self.folder.is_dir() or not _begun_at_most(self.folder)):
            raise GeneratorError(f"{self.folder} is there and not empty: give another --out, or --resume to go on.")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "metrics.jsonl").unlink(missing_ok=True)
        except OSError as error:
            raise GeneratorError(f"{self.folder} cannot be made ({error.strerror}): give another --out.") from error
        return None

    def _trainer(self, checkpoint: Checkpoint | None) -> Trainer:
        steps = checkpoint.steps if checkpoint is not None else self._settings.steps
        trainer = self._fresh(steps)
        if checkpoint is not None:
            try:
                trainer.restore(checkpoint.tensors)
            except (KeyError, RuntimeError, ValueError, IndexError) as error:
                raise GeneratorError(
                    f"The checkpoint in {self.folder} does not fit its plan ({error}): train in another folder."
                ) from error
            self._spent = checkpoint.seconds
            cut_metrics(self.folder, trainer.step_number)
        elif self._budget is not None:
            trainer = self._fresh(self._planned_steps(trainer, self._budget))
        return trainer

    def _fresh(self, steps: int) -> Trainer:
        settings = self._settings.model_copy(update={"steps": steps})
        return Trainer(self._architecture, settings, self._data, seed=self._seed, device=self._device)

    def _planned_steps(self, trainer: Trainer, budget: float) -> int:
        """How many updates fit into the budget, at the speed of a few that are thrown away."""
        begun = perf_counter()
        for _ in range(WARM_UP):
            trainer.step()
        start, done = perf_counter(), 0
        while done < MEASURED and perf_counter() - begun < 0.1 * budget:
            trainer.step()
            done += 1
        speed = max(done, 1) / (perf_counter() - start + 1e-9) if done else WARM_UP / (perf_counter() - begun)
        self._spent = perf_counter() - begun
        return max(1, int(MARGIN * (budget - self._spent) * speed))

    def _after_step(self, trainer: Trainer, losses: Losses, alarms: Alarms) -> None:
        step = trainer.step_number
        if step % CURVE_EVERY == 0:
            self._log({"step": step, "seconds": round(self._spent, 3), **asdict(losses)})
        if step % CHECKPOINT_EVERY == 0:
            samples = trainer.sample(WATCHED, self._seed)
            alarms.on_samples(samples, step)
            write_grid(self.folder / "samples.png", samples[:PICTURED])
            self._save(trainer)
        if step % (CURVES_EVERY * CHECKPOINT_EVERY) == 0:
            write_curves(self.folder)

    def _save(self, trainer: Trainer) -> None:
        write_checkpoint(self.folder, Checkpoint(self._plan, trainer.settings.steps, self._spent, trainer.state()))

    def _log(self, entry: dict[str, Any]) -> None:
        try:
            with (self.folder / "metrics.jsonl").open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")
        except OSError as error:
            raise GeneratorError(f"{self.folder} cannot be written to ({error.strerror}): see the disk.") from error

    def _finish(self, trainer: Trainer) -> Card:
        self._save(trainer)
        write_grid(self.folder / "samples.png", trainer.sample(PICTURED, self._seed))
        write_curves(self.folder)
        write_page(self.folder, live=False)
        card = Card(
            diffgan=__version__,
            architecture=self._architecture,
            prior=self._settings.prior,
            data=DataCard(
                name=self._dataset.name,
                fingerprint=self._dataset.fingerprint,
                images=len(self._dataset),
                class_names=self._dataset.classes,
                held_out=self._data.held_out,
            ),
            training={
                **trainer.settings.model_dump(mode="json"),
                "precision": trainer.settings.precision_on(self._device),
                "seed": self._seed,
                "steps_done": trainer.step_number,
                "seconds": round(self._spent, 1),
                "device": str(self._device),
            },
        )
        write_artifact(self.folder, generator=trainer.average, discriminator=trainer.discriminator, card=card)
        return card
