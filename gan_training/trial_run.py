"""A trial from its start to its end, and what becomes of it: complete, pruned, failed, or begun again."""

from __future__ import annotations

import shutil
from time import monotonic
from typing import TYPE_CHECKING

from diffgan.errors import GeneratorError
from diffgan.gan_training.cores import share_cores
from diffgan.gan_training.interrupts import interrupts_deferred
from diffgan.gan_training.search_space import LENGTH, settings_at
from diffgan.gan_training.study import DEFAULTS, REASON, abandon
from diffgan.gan_training.trials import OF, Looks, OutOfTimeError
from diffgan.gan_training.tuning_results import TRIALS, TrialRow, drop_large, settle
from diffgan.gan_training.tuning_share import Share

if TYPE_CHECKING:
    from optuna import Trial
    from optuna.trial import FrozenTrial, TrialState


def run_trial(share: Share, trial: Trial) -> None:
    """Trains and scores at a trial's values; a failure or divergence is recorded, and is none of the tuning.

    Raises:
        GeneratorError: the disk refuses, so that every trial would fail.
        KeyboardInterrupt: the trial will begin again when the study goes on.
    """
    from optuna import TrialPruned
    from optuna.exceptions import UpdateFinishedTrialError
    from optuna.trial import TrialState

    folder = share.out / TRIALS / f"{trial.number:04}"
    start = monotonic()
    # A study that was begun anew in a database counts from 0 again.
    shutil.rmtree(folder, ignore_errors=True)
    try:
        value = _trained(share, trial, start)
        with interrupts_deferred():  # a result that is half copied is none
            settle(share.out)
            share.study.tell(trial, value)
    except TrialPruned:
        _end(share, trial, TrialState.PRUNED, start)
    except OutOfTimeError:
        _end_out_of_time(share, trial, start)
    except UpdateFinishedTrialError:
        share.report.note(f"Trial {trial.number} was ended by another process, which took this one for dead.")
    # What torch raises where there is not enough memory is a RuntimeError.
    except (GeneratorError, MemoryError, RuntimeError) as error:
        trial.set_user_attr(REASON, " ".join(str(error).split()) or type(error).__name__)
        _end(share, trial, TrialState.FAIL, start)
        if isinstance(error.__cause__, OSError):
            raise
    except BaseException as error:
        if not _frozen(share, trial).state.is_finished():  # an interrupt may have waited until it was
            shutil.rmtree(folder, ignore_errors=True)
            why = "interrupted" if isinstance(error, KeyboardInterrupt) else "stopped"
            abandon(share.study, _frozen(share, trial), why)
        raise
    drop_large(folder)
    share.report.finished(TrialRow.of(_frozen(share, trial)))


def _trained(share: Share, trial: Trial, start: float) -> float:
    point = dict(trial.params)
    settings = settings_at(point, share.base)
    share_cores(share.study)
    steps = max(1, round(settings.steps * point[LENGTH]))
    if share.clock.trial_seconds is not None:
        steps = share.bench.updates_within(settings, share.clock.trial_seconds * point[LENGTH])
    trial.set_user_attr("updates", steps)
    looks = Looks(
        trial,
        share.bench.objective,
        steps=steps,
        out_of_time=share.clock.search_is_over,
        may_prune=not trial.user_attrs.get(DEFAULTS),
    )
    measured, done = share.bench.train(
        settings.model_copy(update={"steps": steps}),
        share.out / TRIALS / f"{trial.number:04}",
        facts={"study": share.study.study_name, "trial": trial.number},
        report=lambda now: share.report.training(f"trial {trial.number}", now),
        after_update=looks,
    )
    trial.report(measured.value, OF)
    facts = {"fid": measured.fid, "kid": measured.kid, "updates": done, "seconds": round(monotonic() - start, 2)}
    for key, value in facts.items():
        trial.set_user_attr(key, value)
    return measured.value


def _end(share: Share, trial: Trial, state: TrialState, start: float) -> None:
    trial.set_user_attr("seconds", round(monotonic() - start, 2))
    share.study.tell(trial, state=state)


def _end_out_of_time(share: Share, trial: Trial, start: float) -> None:
    from optuna.trial import TrialState

    reason = "the time for trials was over"
    if trial.user_attrs.get(DEFAULTS):
        # All others are compared with this one: it will be the first when the study goes on.
        abandon(share.study, _frozen(share, trial), reason)
    else:
        trial.set_user_attr(REASON, reason)
        _end(share, trial, TrialState.PRUNED, start)


def _frozen(share: Share, trial: Trial) -> FrozenTrial:
    return share.study.get_trials(deepcopy=False)[trial.number]
