"""A process that takes part in a study: OUT URL|- TRIALS; it waits for a line on its input before it begins."""

from __future__ import annotations

import sys
from pathlib import Path
from time import monotonic

import optuna
import torch

from diffgan.datasets import load_dataset
from diffgan.gan_training import objective
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.study import Plan, open_study
from diffgan.gan_training.training import Progress
from diffgan.gan_training.tuning import Tuning
from diffgan.gan_training.tuning_clock import Limits
from diffgan.gan_training.tuning_results import TrialRow

BASE = TrainingSettings(steps=24, width=4, discriminator_width=4, batch=16, latent=8)


class Told:
    """Prints what is told, one line each."""

    def preparing(self, done: int, whole: int) -> None:
        pass

    def training(self, name: str, progress: Progress) -> None:
        if progress.step == 1:
            sys.stdout.write(f"began {name}\n")
            sys.stdout.flush()

    def finished(self, row: TrialRow) -> None:
        sys.stdout.write(f"finished {row.number} {row.state}\n")
        sys.stdout.flush()

    def note(self, text: str) -> None:
        pass


def main() -> None:
    out, url, trials = Path(sys.argv[1]), None if sys.argv[2] == "-" else sys.argv[2], int(sys.argv[3])
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    dataset = load_dataset("digits:test")
    # As few samples as in the tests of one process.
    objective.LOOK, objective.FULL = 100, 200
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.readline()
    opened = open_study(out, Plan.of(dataset, BASE, 0), url=url, resume=(out / "study.json").exists())
    limits = Limits(monotonic(), None, trials)
    Tuning(dataset, BASE, out, opened, seed=0, limits=limits, device=torch.device("cpu"), report=Told()).run()


if __name__ == "__main__":
    main()
