"""One trial: a training whose samples are scored on the way, so that a poor one ends early."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import torch

from diffgan.datasets import Dataset
from diffgan.gan_training.cores import share_cores
from diffgan.gan_training.data import TrainingData
from diffgan.gan_training.objective import Measured, Objective
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.trainer import Trainer
from diffgan.gan_training.training import Progress, Training, architecture_of
from diffgan.gan_training.tuning_results import write_score

if TYPE_CHECKING:
    from optuna import Trial

#: Parts of a trial's updates after which its samples are looked at: by halving, and before the rates fall.
RUNGS, OF = (1, 2), 4

#: The speed is taken from so many updates, after a few to warm up.
_WARM_UP, _MEASURED = 5, 30


class OutOfTimeError(Exception):
    """The time for trials ended in the middle of one."""


@dataclass(frozen=True)
class Bench:
    """What all trials of a process share.

    Attributes:
        dataset: what to train on.
        objective: what scores.
        seed: the same for every trial, so that settings alone differ.
        device: where the networks are.
    """

    dataset: Dataset
    objective: Objective
    seed: int
    device: torch.device

    def updates_within(self, settings: TrainingSettings, seconds: float) -> int:
        """How many updates fit into some time, by the speed of a few that are thrown away."""
        start = perf_counter()
        data = TrainingData.of(self.dataset, self.seed)
        architecture = architecture_of(settings, self.dataset)
        trainer = Trainer(architecture, settings, data, seed=self.seed, device=self.device)
        for _ in range(_WARM_UP):
            trainer.step()
        begun, done = perf_counter(), 0
        while done < _MEASURED and (done == 0 or perf_counter() - start < 0.2 * seconds):
            trainer.step()
            done += 1
        speed = done / (perf_counter() - begun + 1e-9)
        return max(1, int(speed * (seconds - (perf_counter() - start))))

    def train(
        self,
        settings: TrainingSettings,
        folder: Path,
        *,
        facts: dict[str, object],
        budget: float | None = None,
        report: Callable[[Progress], None] = lambda _: None,
        after_update: Callable[[Trainer], None] = lambda _: None,
    ) -> tuple[Measured, int]:
        """Trains into a folder of its own, scores thoroughly, and writes the score into the card.

        Returns:
            The score, and the updates done.

        Raises:
            GeneratorError: the training is hopeless or cannot be scored, or the disk refuses.
        """
        last: list[Trainer] = []

        def keep(trainer: Trainer) -> None:
            last[:] = [trainer]
            after_update(trainer)

        training = Training(self.dataset, settings, folder, seed=self.seed, budget=budget, device=self.device)
        card = training.run(report=report, after_update=keep)
        measured = self.objective.full.measure(last[0].as_generator())
        write_score(folder, card, measured, {**facts, "extractor": self.objective.extractor})
        return measured, int(card.training["steps_done"])


class Looks:
    """Scores a training at its rungs, and ends it where it is among the worse half or out of time.

    Args:
        trial: what the scores are reported to.
        objective: what scores.
        steps: updates of the whole training.
        out_of_time: whether the time for trials is over.
        may_prune: the configured settings are never pruned, as all others are compared with them.
    """

    def __init__(
        self,
        trial: Trial,
        objective: Objective,
        *,
        steps: int,
        out_of_time: Callable[[], bool],
        may_prune: bool,
    ) -> None:
        self._trial, self._objective = trial, objective
        self._rungs = {max(1, steps * rung // OF): rung for rung in RUNGS}
        self._out_of_time, self._may_prune = out_of_time, may_prune

    def __call__(self, trainer: Trainer) -> None:
        """To be called after each update.

        Raises:
            TrialPruned: it is among the worse half.
            OutOfTimeError: the time is over.
            GeneratorError: the samples cannot be scored.
        """
        from optuna import TrialPruned

        if self._out_of_time():
            raise OutOfTimeError
        rung = self._rungs.get(trainer.step_number)
        if rung is None:
            return
        share_cores(self._trial.study)
        self._trial.report(self._objective.look.measure(trainer.as_generator()).value, rung)
        if self._trial.should_prune() and self._may_prune:
            raise TrialPruned
