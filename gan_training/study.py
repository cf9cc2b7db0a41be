"""A study: what it tunes, how it is started, joined and gone on with, and what becomes of trials of dead processes."""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from diffgan.datasets import Dataset
from diffgan.drafts import replacing
from diffgan.errors import GeneratorError, UsageError
from diffgan.gan_training.presence import is_gone
from diffgan.gan_training.search_space import configured
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.storage import JOURNAL, open_database, open_journal, shown, storage_faults

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

FILE = "study.json"

#: Trials that are drawn at random before the sampler learns from them.
RANDOM_TRIALS = 5

#: Keys of what a trial carries beside its values.
PROCESS, REASON, DEFAULTS, FINAL, ABANDONED = "process", "reason", "defaults", "final", "abandoned"
PRESENCE = "presence"


@dataclass(frozen=True)
class Plan:
    """What a study tunes; trials under another plan do not belong to it.

    Attributes:
        data: the dataset's name.
        fingerprint: of the dataset.
        settings: what is not tuned, and where tuning starts.
        seed: of trainings and scores.
    """

    data: str
    fingerprint: str
    settings: TrainingSettings
    seed: int

    @classmethod
    def of(cls, dataset: Dataset, settings: TrainingSettings, seed: int) -> Plan:
        """The plan for some data."""
        return cls(dataset.name, dataset.fingerprint, settings, seed)

    @property
    def facts(self) -> dict[str, Any]:
        """What must not change."""
        settings = self.settings.model_dump(mode="json")
        return {"data": self.fingerprint, "seed": self.seed, **settings}

    @property
    def name(self) -> str:
        """Of the study: the same for the same plan, so that processes meet and other data keeps out."""
        digest = hashlib.sha256(json.dumps(self.facts, sort_keys=True).encode()).hexdigest()[:12]
        readable = re.sub(r"[^\w-]+", "-", Path(self.data).stem).strip("-")[:30]
        return f"diffgan-{readable}-{digest}"


@dataclass(frozen=True)
class Opened:
    """A study, ready for trials.

    Attributes:
        study: Optuna's.
        created: whether this process made it.
        storage: how to name its storage, for messages and optuna-dashboard.
    """

    study: Study
    created: bool
    storage: str


def open_study(out: Path, plan: Plan, *, url: str | None, resume: bool) -> Opened:
    """Makes a study, goes on with it, or joins it.

    Args:
        out: the folder of this tuning.
        plan: what to tune.
        url: of a database; None: a journal in the folder.
        resume: the study has to be there.

    Raises:
        GeneratorError: there is nothing to go on with, it was started otherwise, or the folder is in use.
        UsageError: the database cannot be used.
    """
    known = _read_facts(out)
    if known is not None and resume:
        _check_same(known, plan, url, out)
    elif resume and url is None:
        raise GeneratorError(f"{out} has no tuning to go on with: leave out --resume to start one.")
    elif out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise GeneratorError(f"{out} is there and not empty: give another --out, or --resume to go on or join in.")
    if url is None:
        _make(out)
        _write_facts(out, plan, url)
        # Where the beginning was broken off, there is no trial yet, and perhaps no study.
        begun = resume and (out / "trials").exists()
        return _started(open_journal(out), plan, out, url=None, resume=resume, must_exist=begun)
    with storage_faults():
        return _started(open_database(url), plan, out, url=url, resume=resume, must_exist=resume)


def fail_left_behind(study: Study, out: Path) -> int:
    """Marks the trials of processes that were killed as failed, and puts their values back in the queue.

    Args:
        study: of any number of processes.
        out: this tuning's folder; of those that have another one, only this machine's are known to be dead.
    """
    from optuna.trial import TrialState

    count = 0
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        gone = is_gone(out, str(trial.user_attrs.get(PRESENCE, "")))
        if gone or (gone is None and _is_dead(str(trial.user_attrs.get(PROCESS, "")))):
            count += abandon(study, trial, "its process was killed")
    return count


def abandon(study: Study, trial: FrozenTrial, reason: str) -> bool:
    """Marks a trial as failed through no fault of its values, and queues them again; False: another process did."""
    from optuna.exceptions import UpdateFinishedTrialError
    from optuna.trial import TrialState

    try:
        study._storage.set_trial_user_attr(trial._trial_id, REASON, reason)
        study._storage.set_trial_user_attr(trial._trial_id, ABANDONED, True)
        study.tell(trial.number, state=TrialState.FAIL)
    except (UpdateFinishedTrialError, ValueError):
        return False
    if trial.params:
        kept = {DEFAULTS: True} if trial.user_attrs.get(DEFAULTS) else {}
        study.enqueue_trial(trial.params, user_attrs=kept)
    return True


def this_process() -> str:
    """Host and number, by which another process of the host can tell whether this one still runs."""
    return f"{socket.gethostname()}:{os.getpid()}"


def _started(storage: BaseStorage, plan: Plan, out: Path, *, url: str | None, resume: bool, must_exist: bool) -> Opened:
    import optuna

    optuna_study, created = None, False
    if not must_exist:
        try:
            optuna_study = optuna.create_study(storage=storage, study_name=plan.name, direction="minimize")
            created = True
        except optuna.exceptions.DuplicatedStudyError:
            pass
    if optuna_study is None:
        try:
            optuna_study = optuna.load_study(storage=storage, study_name=plan.name)
        except KeyError:
            where = out if url is None else shown(url)
            raise GeneratorError(
                f"There is no study {plan.name} in {where}: leave out --resume to start one, or give the data, "
                "configuration and seed that it was started with."
            ) from None
    # Without a resume, another process may be about to do the same.
    if created or (resume and not optuna_study.trials):
        for key, value in plan.facts.items():
            optuna_study.set_user_attr(key, value)
        optuna_study.enqueue_trial(configured(plan.settings), user_attrs={DEFAULTS: True})
    optuna_study.sampler = _sampler(plan.seed, optuna_study, created=created)
    # Each rung is passed by the better half of those that have reached it: nobody waits for anybody.
    optuna_study.pruner = optuna.pruners.SuccessiveHalvingPruner(min_resource=1, reduction_factor=2)
    if url is not None:
        _make(out)
        _write_facts(out, plan, url)
    return Opened(optuna_study, created, str(out / JOURNAL) if url is None else shown(url))


def _sampler(seed: int, study: Study, *, created: bool) -> Any:
    """TPE; each process that joins draws differently, or several would try the same values."""
    import optuna

    mixed = seed % 2**32  # the sampler knows no greater ones
    if not created:
        (mixed,) = map(int, np.random.SeedSequence((seed, len(study.trials), os.getpid())).generate_state(1))
    # The configured values are tried first, and count.
    first = 1 + RANDOM_TRIALS
    return optuna.samplers.TPESampler(n_startup_trials=first, multivariate=True, constant_liar=True, seed=mixed)


def _is_dead(process: str) -> bool:
    host, _, number = process.rpartition(":")
    # Windows has no harmless way to ask; such trials stay as they are.
    if host != socket.gethostname() or not number.isdecimal() or sys.platform == "win32":
        return False
    if int(number) == os.getpid():
        return True
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def _read_facts(out: Path) -> dict[str, Any] | None:
    path = out / FILE
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise GeneratorError(
            f"{path} cannot be read ({error}): restore it from a copy, or tune in another folder."
        ) from error
    if not isinstance(content, dict) or not isinstance(content.get("plan"), dict):
        raise GeneratorError(f"{path} is none of diffgan's: restore it from a copy, or tune in another folder.")
    return content


def _check_same(known: dict[str, Any], plan: Plan, url: str | None, out: Path) -> None:
    was, now = known["plan"], json.loads(json.dumps(plan.facts))
    changed = [
        f"{key} was {was.get(key)}, is {now.get(key)}" for key in sorted({*was, *now}) if was.get(key) != now.get(key)
    ]
    if changed:
        raise GeneratorError(
            f"The tuning in {out} was started otherwise ({'; '.join(changed)}): go on as it was started, or tune in "
            "another folder."
        )
    before, given = known.get("storage"), None if url is None else shown(url)
    if before != given:
        raise UsageError(
            f"The study of {out} is in {before or 'its own journal'}, not in {given or 'a journal'}: "
            f"{'give the same --storage' if before else 'leave out --storage'}, or tune in another folder."
        )


def _make(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GeneratorError(f"{out} cannot be made ({error.strerror}): give another --out.") from error


def _write_facts(out: Path, plan: Plan, url: str | None) -> None:
    content = {"study": plan.name, "plan": plan.facts, "storage": None if url is None else shown(url)}
    try:
        with replacing(out / FILE) as draft:
            draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    except OSError as error:
        raise GeneratorError(f"{out} cannot be written to ({error.strerror}): see the disk.") from error
