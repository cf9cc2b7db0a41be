"""Tunes a GAN: trials under Optuna, then a long training with the best settings; the best generator is the result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from diffgan.datasets import Dataset
from diffgan.errors import GeneratorError
from diffgan.gan_training.cores import threads_kept
from diffgan.gan_training.data import hold_out
from diffgan.gan_training.final_training import train_best
from diffgan.gan_training.objective import Objective
from diffgan.gan_training.plots import write_plots
from diffgan.gan_training.presence import present
from diffgan.gan_training.search_space import search_space
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.storage import storage_faults
from diffgan.gan_training.study import PRESENCE, PROCESS, Opened, fail_left_behind, this_process
from diffgan.gan_training.training import architecture_of
from diffgan.gan_training.trial_run import run_trial
from diffgan.gan_training.trials import Bench
from diffgan.gan_training.tuning_clock import Clock, Limits
from diffgan.gan_training.tuning_results import TrialRow, best_first, rows_of, score_in, settle, write_table
from diffgan.gan_training.tuning_share import Share, TuningReport

#: So many failures before anything was complete end the tuning.
MOST_FAILURES = 8

#: What is common to all trials of a study under a time budget: the seconds of the longest training.
_SECONDS = "trial_seconds"


@dataclass(frozen=True)
class Outcome:
    """What a tuning came to.

    Attributes:
        rows: all trials of the study.
        best: the best trial of the study.
        best_trial: the same without the long trainings at the end of a tuning.
        configured: the trial with the settings as they are configured, where it is complete.
        here: whether the folder holds the best trial's generator; False: another process of the study has it.
    """

    rows: list[TrialRow]
    best: TrialRow
    best_trial: TrialRow | None
    configured: TrialRow | None
    here: bool


class Tuning:
    """A process's part in one study.

    Args:
        dataset: what to train on.
        base: the settings that tuning starts from.
        out: the folder of the result.
        opened: the study, see `open_study`.
        seed: of trainings and scores.
        limits: when to end.
        device: where the networks are.
        report: what is told.
    """

    def __init__(
        self,
        dataset: Dataset,
        base: TrainingSettings,
        out: Path,
        opened: Opened,
        *,
        seed: int,
        limits: Limits,
        device: torch.device,
        report: TuningReport,
    ) -> None:
        self._dataset, self._base, self._out = dataset, base, out
        self._study = opened.study
        self._seed, self._limits, self._device, self._report = seed, limits, device, report
        #: By which others know that this process runs.
        self._token: str | None = None

    def run(self) -> Outcome:
        """Searches, trains the best settings for the rest of the time, and leaves the best generator, table and plots.

        Raises:
            KeyboardInterrupt: the best so far, the table and the plots are there, and the study can go on.
            GeneratorError: all trials failed, the disk refuses, or the storage stopped answering.
        """
        with storage_faults(), threads_kept(), present(self._out) as token:
            self._token = token
            left_behind = fail_left_behind(self._study, self._out)
            if left_behind:
                self._report.note(f"Trials of killed processes begin again: {left_behind}")
            settle(self._out)
            share = self._prepared()
            try:
                self._search(share)
                train_best(share)
            finally:
                self._write_outputs()
            return self._outcome()

    def _prepared(self) -> Share:
        objective = Objective(self._dataset, self._base.augmentation, seed=self._seed, report=self._report.preparing)
        clock = Clock(self._limits, objective.full.seconds)
        # Scores of trials of other lengths would not compare: the first process that begins one has fixed it for all.
        begun = any(row.kind != "final" for row in rows_of(self._study))
        if _SECONDS not in self._study.user_attrs or not begun:
            self._study.set_user_attr(_SECONDS, clock.planned_trial_seconds())
        clock.trial_seconds = self._study.user_attrs[_SECONDS]
        bench = Bench(self._dataset, objective, self._seed, self._device)
        return Share(self._study, self._base, self._out, bench, clock, self._report)

    def _search(self, share: Share) -> None:
        while share.clock.may_start(begun=sum(row.kind != "final" for row in rows_of(self._study))):
            trial = self._study.ask(fixed_distributions=search_space(self._base))
            if self._token is not None:
                trial.set_user_attr(PRESENCE, self._token)
            trial.set_user_attr(PROCESS, this_process())
            run_trial(share, trial)
            share.clock.scoring = share.bench.objective.full.seconds
            self._check_hope()

    def _check_hope(self) -> None:
        rows = rows_of(self._study)
        failed = [row for row in rows if row.state == "failed"]
        if len(failed) >= MOST_FAILURES and all(row.state in ("failed", "running") for row in rows):
            raise GeneratorError(_all_failed(failed))

    def _write_outputs(self) -> None:
        try:
            write_table(self._out, rows_of(self._study))
            write_plots(self._study, self._out)
        except OSError as error:
            raise GeneratorError(f"{self._out} cannot be written to ({error.strerror}): see the disk.") from error

    def _outcome(self) -> Outcome:
        rows = rows_of(self._study)
        ranked = best_first(rows)
        if not ranked:
            raise GeneratorError(_all_failed([row for row in rows if row.state == "failed"]))
        return Outcome(
            rows=rows,
            best=ranked[0],
            best_trial=next((row for row in ranked if row.kind != "final"), None),
            configured=next((row for row in ranked if row.kind == "configured"), None),
            here=score_in(self._out) == ranked[0].value,
        )


def check_data(dataset: Dataset, base: TrainingSettings, seed: int) -> None:
    """Tells what would be the failure of every trial, before a study is made.

    Raises:
        GeneratorError: no GAN can be trained on the data.
    """
    architecture_of(base, dataset)
    hold_out(dataset.labels, seed)


def _all_failed(failed: list[TrialRow]) -> str:
    if not failed:
        return "No trial was completed: give more --budget or --trials, and go on with --resume."
    return f"All {len(failed)} trials failed, the last one so: {failed[-1].reason}"
