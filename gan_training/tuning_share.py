"""What the parts of one process's tuning hand to one another, and what they tell."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.training import Progress
from diffgan.gan_training.trials import Bench
from diffgan.gan_training.tuning_clock import Clock
from diffgan.gan_training.tuning_results import TrialRow

if TYPE_CHECKING:
    from optuna import Study


class TuningReport(Protocol):
    """What a tuning tells while it runs."""

    def preparing(self, done: int, whole: int) -> None:
        """The classifier whose features are compared is being trained."""
        ...

    def training(self, name: str, progress: Progress) -> None:
        """An update of a trial."""
        ...

    def finished(self, row: TrialRow) -> None:
        """A trial has ended."""
        ...

    def note(self, text: str) -> None:
        """Something that a user should know."""
        ...


@dataclass(frozen=True)
class Share:
    """A process's part in a study.

    Attributes:
        study: Optuna's.
        base: the settings that tuning starts from.
        out: the folder of the result.
        bench: trains and scores.
        clock: says what there is time for.
        report: what is told.
    """

    study: Study
    base: TrainingSettings
    out: Path
    bench: Bench
    clock: Clock
    report: TuningReport
