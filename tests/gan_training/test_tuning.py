"""Tunings: what they leave, pruning, failures, time, several processes, kills; PostgreSQL where a server is there."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
import pytest
import torch
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock
from optuna.study import load_study
from optuna.trial import FrozenTrial, TrialState

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import DiffganError, GeneratorError
from diffgan.gan_training import objective, search_space, trial_run, tuning
from diffgan.gan_training.objective import Objective, plain_images
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.study import ABANDONED, PROCESS, Plan, open_study
from diffgan.gan_training.training import Progress, Training
from diffgan.gan_training.tuning import Outcome, Tuning, check_data
from diffgan.gan_training.tuning_clock import Clock, Limits
from diffgan.gan_training.tuning_results import TrialRow, best_first, score_in, tells_nothing
from diffgan.generators.card import read_card
from diffgan.generators.generator import load_generator

BASE = TrainingSettings(steps=24, width=4, discriminator_width=4, batch=16, latent=8)
WORKER = Path(__file__).with_name("tuning_worker.py")


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset("digits:test")


@pytest.fixture(autouse=True)
def few_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(objective, "LOOK", 100)
    monkeypatch.setattr(objective, "FULL", 200)


class Told:
    """Keeps what a tuning tells; may interrupt it."""

    def __init__(self, *, interrupt_in: str = "") -> None:
        self.rows: list[TrialRow] = []
        self.notes: list[str] = []
        self.interrupt_in = interrupt_in

    def preparing(self, done: int, whole: int) -> None:
        pass

    def training(self, name: str, progress: Progress) -> None:
        if name == self.interrupt_in:
            raise KeyboardInterrupt

    def finished(self, row: TrialRow) -> None:
        self.rows.append(row)

    def note(self, text: str) -> None:
        self.notes.append(text)


def tune(
    dataset: Dataset,
    out: Path,
    *,
    base: TrainingSettings = BASE,
    budget: float | None = None,
    trials: int | None = None,
    resume: bool = False,
    told: Told | None = None,
) -> Outcome:
    started = monotonic()
    opened = open_study(out, Plan.of(dataset, base, 0), url=None, resume=resume)
    return Tuning(
        dataset,
        base,
        out,
        opened,
        seed=0,
        limits=Limits(started, budget, trials),
        device=torch.device("cpu"),
        report=told or Told(),
    ).run()


def trials_in(out: Path) -> list[FrozenTrial]:
    path = str(out / "study.journal")
    storage = JournalStorage(JournalFileBackend(path, lock_obj=JournalFileOpenLock(path)))
    return load_study(study_name=None, storage=storage).trials


@pytest.fixture(scope="module")
def tuned(digits: Dataset, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    out = tmp_path_factory.mktemp("tuned") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(objective, "LOOK", 100)
        patch.setattr(objective, "FULL", 200)
        return out, tune(digits, out, trials=10)


def test_a_tuning_leaves_the_best_generator(digits: Dataset, tuned: tuple[Path, Outcome]) -> None:
    out, outcome = tuned
    generator, card = load_generator(out), read_card(out)
    assert generator.data == digits.fingerprint
    facts = card.training["tuning"]
    assert outcome.here
    assert facts["trial"] == outcome.best.number
    assert facts["score"] == outcome.best.value == min(row.value for row in best_first(outcome.rows))  # type: ignore[type-var]
    assert card.training["batch"] == outcome.best.point["batch"]
    assert card.architecture.width == outcome.best.point["width"]
    # What is in the folder is what was scored.
    yardstick = Objective(digits, BASE.augmentation, seed=0).full
    assert yardstick.measure(generator).fid == pytest.approx(facts["fid"], rel=1e-3)


def test_poor_trials_are_pruned_but_never_the_configured_one(tuned: tuple[Path, Outcome]) -> None:
    _, outcome = tuned
    states = [row.state for row in outcome.rows]
    assert len(states) == 10
    assert set(states) == {"complete", "pruned"}
    assert outcome.configured is not None
    assert outcome.configured.number == 0
    assert all(row.value is not None for row in outcome.rows)


def test_only_the_best_generator_takes_space(tuned: tuple[Path, Outcome]) -> None:
    out, outcome = tuned
    assert not list((out / "trials").rglob("*.safetensors"))
    assert sorted(path.name for path in out.glob("*.safetensors")) == [
        "discriminator.safetensors",
        "generator.safetensors",
    ]
    for row in best_first(outcome.rows):
        assert (out / "trials" / f"{row.number:04}" / "samples.png").exists()


def test_the_table_and_the_plots_are_written(tuned: tuple[Path, Outcome]) -> None:
    out, outcome = tuned
    with (out / "trials.csv").open(newline="", encoding="utf-8") as file:
        lines = list(csv.DictReader(file))
    assert [line["state"] for line in lines] == [row.state for row in outcome.rows]
    assert {"score", "fid", "kid", "seconds", *search_space.TUNED} <= set(lines[0])
    plots = {path.stem for path in (out / "plots").glob("*.png")}
    assert {"history", "intermediate"} <= plots
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in (out / "plots").iterdir())


def test_the_study_can_be_read_by_optuna_alone(tuned: tuple[Path, Outcome]) -> None:
    out, outcome = tuned
    trials = trials_in(out)
    assert [trial.value for trial in trials] == [row.value for row in outcome.rows]
    complete = next(trial for trial in trials if trial.state == TrialState.COMPLETE)
    assert complete.intermediate_values.keys() == {1, 2, 4}
    value = complete.value
    assert value is not None
    assert {"fid", "kid", "seconds", "updates", PROCESS} <= complete.user_attrs.keys()


def test_the_objective_is_one_where_samples_are_the_plain_images(digits: Dataset) -> None:
    measure = Objective(digits, BASE.augmentation, seed=0).full
    assert measure.measure(plain_images(digits)).value == pytest.approx(1.0)
    images, _, _ = plain_images(digits).sample(500, np.random.default_rng(0))
    real = {image.tobytes() for image in digits.images}
    assert all(image.tobytes() in real for image in images)
    assert len({image.tobytes() for image in images}) > 300


def test_diverged_trials_are_recorded_and_not_fatal(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverge_but(monkeypatch, {0, 3})
    told = Told()
    outcome = tune(digits, tmp_path / "o", trials=4, told=told)
    assert [row.state for row in outcome.rows][:3] == ["complete", "failed", "failed"]
    assert all("diverged" in row.reason for row in outcome.rows if row.state == "failed")
    assert len(told.rows) == 4
    assert "diverged" in (tmp_path / "o" / "trials.csv").read_text()


def test_a_trial_that_another_process_ended_is_not_fatal(digits: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "o"

    class Ending(Told):
        def training(self, name: str, progress: Progress) -> None:
            if name == "trial 0" and progress.step == 1:
                opened = open_study(out, Plan.of(digits, BASE, 0), url=None, resume=True)
                opened.study.tell(0, state=TrialState.FAIL)

    told = Ending()
    tune(digits, out, trials=3, told=told)
    assert any("Trial 0 was ended by another process" in note for note in told.notes)
    assert score_in(out) is not None


def test_when_all_trials_fail_one_line_says_why(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    diverge_but(monkeypatch, set())
    with pytest.raises(GeneratorError, match=f"All {tuning.MOST_FAILURES} trials failed, .*diverged at update"):
        tune(digits, tmp_path / "o", trials=50)
    assert len(trials_in(tmp_path / "o")) == tuning.MOST_FAILURES
    assert (tmp_path / "o" / "trials.csv").exists()


def diverge_but(monkeypatch: pytest.MonkeyPatch, spared: set[int]) -> None:
    """Makes real trainings diverge by learning rates that no network survives."""
    numbers = iter(range(1000))
    honest = search_space.settings_at

    def wild(point: dict[str, object], base: TrainingSettings) -> TrainingSettings:
        settings = honest(point, base)
        if next(numbers) in spared:
            return settings
        return settings.model_copy(update={"generator_rate": 1e30, "discriminator_rate": 1e30})

    monkeypatch.setattr(trial_run, "settings_at", wild)


def test_a_disk_that_refuses_ends_the_tuning_in_one_line(digits: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "o"
    tune(digits, out, trials=1)
    before = (out / "card.json").read_bytes()
    # A file where a folder has to be is as good as a full disk, also for the superuser.
    shutil.rmtree(out / "trials")
    (out / "trials").write_text("")
    with pytest.raises(GeneratorError, match=r"0001 cannot be made"):
        tune(digits, out, trials=3, resume=True)
    assert (out / "card.json").read_bytes() == before


def test_data_that_makes_no_gan_is_told_at_once(digits: Dataset) -> None:
    check_data(digits, BASE, 0)
    wide = Dataset.checked("wide", digits.images.repeat(2, axis=2), digits.labels)
    with pytest.raises(GeneratorError, match="square"):
        check_data(wide, BASE, 0)
    with pytest.raises(GeneratorError, match="at least 200"):
        check_data(digits.part("few", np.arange(150)), BASE, 0)


def test_an_interrupted_tuning_keeps_the_best_and_goes_on(digits: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "o"
    with pytest.raises(KeyboardInterrupt):
        tune(digits, out, trials=3, told=Told(interrupt_in="trial 2"))
    assert score_in(out) == trials_in(out)[0].value or trials_in(out)[1].value is not None
    states = [trial.state for trial in trials_in(out)]
    assert states[2:] == [TrialState.FAIL, TrialState.WAITING]
    assert (out / "trials.csv").exists()
    assert not (out / "trials" / "0002").exists()
    outcome = tune(digits, out, trials=4, resume=True)
    assert len(outcome.rows) == 4
    assert trials_in(out)[3].params == trials_in(out)[2].params


def test_a_budget_ends_in_a_long_training(digits: Dataset, tmp_path: Path) -> None:
    start = monotonic()
    outcome = tune(digits, tmp_path / "o", budget=4.0)
    # Generous, as the machine may pause: the trials' own steps would take far longer than the budget.
    assert monotonic() - start < 60
    kinds = [row.kind for row in outcome.rows]
    assert kinds[-1] == "final"
    assert outcome.rows[-1].updates is not None
    # Nets as small as these have learnt nothing in a second, so that their settings are no better than the configured.
    assert outcome.best_trial is not None
    assert tells_nothing(outcome.best_trial)
    assert outcome.rows[-1].point == search_space.configured(BASE)
    assert load_generator(tmp_path / "o").classes == 10


def test_scores_take_time_from_the_first_plan_on(digits: Dataset) -> None:
    assert Objective(digits, TrainingSettings().augmentation, seed=0).full.seconds > 0
    quick, slow = (Clock(Limits(monotonic(), 1000.0, None), scoring=seconds) for seconds in (1.0, 20.0))
    planned = quick.planned_trial_seconds(), slow.planned_trial_seconds()
    assert planned[0] is not None
    assert planned[1] is not None
    assert planned[0] - planned[1] == pytest.approx(1.5 * 19, abs=0.1)
    quick.scoring = 20.0
    first, second = quick.for_the_best(any_complete=True), slow.for_the_best(any_complete=True)
    assert first == pytest.approx(second, abs=1.0)


def test_the_clock_keeps_half_for_the_best_settings() -> None:
    clock = Clock(Limits(monotonic(), 1000.0, None), scoring=1.0)
    seconds = clock.planned_trial_seconds()
    assert seconds is not None
    assert 40 < seconds < 100
    assert clock.may_start(begun=100)
    rest = clock.for_the_best(any_complete=True)
    assert rest is not None
    assert 900 < rest < 1000
    assert not Clock(Limits(monotonic(), 1000.0, 7), scoring=1.0).may_start(begun=7)
    late = Clock(Limits(monotonic() - 2000, 1000.0, None), scoring=1.0)
    assert not late.may_start(begun=0)
    assert late.for_the_best(any_complete=True) is None
    assert late.for_the_best(any_complete=False) == 1.0
    assert Clock(Limits(monotonic(), None, 3), scoring=1.0).for_the_best(any_complete=False) is None


class Workers:
    """Processes that take part in one study, let go at the same moment."""

    def __init__(self, *arguments: tuple[object, ...]) -> None:
        self._stack = ExitStack()
        self.all = [self._start(*given) for given in arguments]

    def _start(self, *arguments: object) -> subprocess.Popen[str]:
        root = Path(__file__).resolve().parents[2]
        return self._stack.enter_context(
            subprocess.Popen(
                [sys.executable, str(WORKER), *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
                cwd=root,
                env=os.environ | {"OMP_NUM_THREADS": "1"},
            )
        )

    def go(self) -> None:
        for worker in self.all:
            assert worker.stdout is not None
            assert worker.stdout.readline() == "ready\n"
        for worker in self.all:
            assert worker.stdin is not None
            worker.stdin.write("go\n")
            worker.stdin.flush()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        for worker in self.all:
            worker.kill()
        self._stack.close()

    def finish(self) -> None:
        for worker in self.all:
            worker.communicate(timeout=120)
            assert worker.returncode == 0


def check_shared(trials: list[FrozenTrial], wanted: int) -> None:
    # Two processes may both find one trial missing, and start one each.
    assert wanted <= len(trials) <= wanted + 1
    assert all(trial.state in (TrialState.COMPLETE, TrialState.PRUNED) for trial in trials)
    assert len({tuple(sorted(trial.params.items())) for trial in trials}) == len(trials)
    assert len({trial.user_attrs[PROCESS] for trial in trials}) == 2


def test_processes_share_a_journal_without_doing_anything_twice(digits: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "o"
    open_study(out, Plan.of(digits, BASE, 0), url=None, resume=False)
    with Workers((out, "-", 10), (out, "-", 10)) as workers:
        workers.go()
        workers.finish()
    trials = trials_in(out)
    check_shared(trials, 10)
    values = [trial.value for trial in trials if trial.state == TrialState.COMPLETE and trial.value is not None]
    assert score_in(out) == min(values)
    assert load_generator(out).latent == 8


def test_a_killed_tuning_goes_on(digits: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "o"
    with Workers((out, "-", 4)) as workers:
        workers.go()
        (worker,) = workers.all
        assert worker.stdout is not None
        for line in worker.stdout:
            if line == "began trial 1\n":
                worker.send_signal(signal.SIGKILL)
                break
        worker.wait(timeout=60)
    best = score_in(out)
    assert best is not None
    told = Told()
    outcome = tune(digits, out, trials=4, resume=True, told=told)
    assert told.notes == ["Trials of killed processes begin again: 1"]
    assert len(outcome.rows) == 4
    trials = trials_in(out)
    assert trials[1].user_attrs[ABANDONED]
    assert trials[2].params == trials[1].params
    assert score_in(out) == outcome.best.value


def test_a_generator_that_was_scored_but_not_moved_up_is_not_lost(digits: Dataset, tmp_path: Path) -> None:
    out = tmp_path / "o"
    tune(digits, out, trials=1)
    better = out / "trials" / "0007"
    Training(digits, BASE, better).run()
    card = json.loads((better / "card.json").read_text())
    card["training"]["tuning"] = {"score": -1.0}
    (better / "card.json").write_text(json.dumps(card))
    tune(digits, out, trials=1, resume=True)
    assert score_in(out) == -1.0
    assert not list(better.glob("*.safetensors"))


PASSWORD = "for-this-test"


@pytest.fixture(scope="module")
def postgres() -> Iterator[str]:
    """A PostgreSQL server of this test's own; it refuses to run for the superuser, so that another user runs it."""
    pytest.importorskip("psycopg", reason="PostgreSQL's driver is not installed: pip install 'psycopg[binary]'")
    initdb, server = shutil.which("initdb"), shutil.which("postgres")
    if initdb is None or server is None:
        pytest.skip("no PostgreSQL server is installed (initdb and postgres are not on the path)")
    folder = Path(tempfile.mkdtemp(prefix="diffgan-pg-"))
    user: dict[str, Any] = {}
    if os.geteuid() == 0:
        import pwd

        nobody = pwd.getpwnam("nobody")
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid}
    secret = folder / "password"
    secret.write_text(PASSWORD)
    for path in (folder, secret):
        if user:
            os.chown(path, user["user"], user["group"])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    try:
        subprocess.run(
            [
                initdb,
                "-D",
                folder / "data",
                "-U",
                "tuner",
                "--auth=scram-sha-256",
                f"--pwfile={secret}",
                "--no-sync",
                "--encoding=UTF8",
                "--locale=C",
            ],
            check=True,
            capture_output=True,
            cwd=folder,
            **user,
        )
        options = ["-D", str(folder / "data"), "-p", str(port), "-k", str(folder), "-h", "127.0.0.1", "-F"]
        with subprocess.Popen([server, *options], stderr=subprocess.PIPE, text=True, cwd=folder, **user) as running:
            assert running.stderr is not None
            for line in running.stderr:
                if "ready to accept connections" in line:
                    break
            yield f"postgresql+psycopg://tuner:{PASSWORD}@127.0.0.1:{port}/postgres"
            # Fast: the other way waits for connections that pools keep open.
            running.send_signal(signal.SIGINT)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def test_processes_share_a_postgresql_database(postgres: str, digits: Dataset, tmp_path: Path) -> None:
    with Workers((tmp_path / "one", postgres, 8), (tmp_path / "two", postgres, 8)) as workers:
        workers.go()
        workers.finish()
    opened = open_study(tmp_path / "three", Plan.of(digits, BASE, 0), url=postgres, resume=True)
    trials = opened.study.trials
    check_shared(trials, 8)
    scores = {score_in(tmp_path / "one"), score_in(tmp_path / "two")} - {None}
    assert opened.study.best_value in scores
    assert PASSWORD not in (tmp_path / "one" / "study.json").read_text()


def test_a_wrong_password_is_one_clear_line(postgres: str, digits: Dataset, tmp_path: Path) -> None:
    wrong = postgres.replace(PASSWORD, "guessed")
    with pytest.raises(DiffganError, match="password authentication failed") as caught:
        open_study(tmp_path / "o", Plan.of(digits, BASE, 0), url=wrong, resume=False)
    assert "guessed" not in str(caught.value)
    assert not (tmp_path / "o").exists()
