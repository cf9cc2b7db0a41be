"""What is left of a time budget after the trials goes into one long training with the best settings."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any

from diffgan.errors import GeneratorError
from diffgan.gan_training.cores import share_cores
from diffgan.gan_training.interrupts import interrupts_deferred
from diffgan.gan_training.search_space import LENGTH, configured, search_space, settings_at
from diffgan.gan_training.study import FINAL
from diffgan.gan_training.tuning_results import TRIALS, best_first, rows_of, settle, tells_nothing
from diffgan.gan_training.tuning_share import Share


def train_best(share: Share) -> None:
    """Trains the best settings for as long as there is time, if that is longer than a trial.

    Its score stands in the study beside those of the trials. Where no trial is complete, or all were too short to
    learn anything, the settings are those of the configuration.

    Raises:
        GeneratorError: the disk refuses.
    """
    complete = best_first(rows_of(share.study))
    seconds = share.clock.for_the_best(any_complete=bool(complete))
    # Former long trainings scored better for being long: what counts is whose settings were best in a trial.
    ranked = [row for row in complete if row.kind != "final"]
    if seconds is None:
        return
    known = bool(ranked) and not tells_nothing(ranked[0])
    point = ranked[0].point if known else configured(share.base)
    folder = _next_folder(share.out)
    start = monotonic()
    share_cores(share.study)
    try:
        measured, done = share.bench.train(
            settings_at(point, share.base),
            folder,
            facts={"study": share.study.study_name, "trial": folder.name},
            budget=seconds,
            report=lambda now: share.report.training("the long training", now),
        )
    # What torch raises where there is not enough memory is a RuntimeError.
    except (GeneratorError, MemoryError, RuntimeError) as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error.__cause__, OSError):
            raise
        share.report.note(f"The long training failed: {error}")
        return
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    facts = {FINAL: True, "fid": measured.fid, "kid": measured.kid, "updates": done}
    with interrupts_deferred():  # a result that is half copied is none
        settle(share.out)
        _add(share, point, measured.value, {**facts, "seconds": round(monotonic() - start, 2)})


def _add(share: Share, point: Mapping[str, Any], value: float, facts: dict[str, Any]) -> None:
    from optuna.trial import create_trial

    final = create_trial(
        params={**point, LENGTH: 1.0}, distributions=search_space(share.base), value=value, user_attrs=facts
    )
    share.study.add_trial(final)
    share.report.finished([row for row in rows_of(share.study) if row.kind == "final"][-1])


def _next_folder(out: Path) -> Path:
    """Several processes may come to their ends at once: making the folder claims the name."""
    number = 1
    while True:
        folder = out / TRIALS / f"final-{number}"
        try:
            folder.mkdir(parents=True)
        except FileExistsError:
            number += 1
        else:
            return folder
