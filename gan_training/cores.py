"""The cores of a machine, shared by the processes of a study that run on it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import torch

from diffgan.gan_training.study import PROCESS, this_process
from diffgan.system import available_cores

if TYPE_CHECKING:
    from optuna import Study


def share_cores(study: Study) -> None:
    """Takes a fair part of the cores: more threads than cores slow small networks down many times over."""
    from optuna.trial import TrialState

    running = study.get_trials(deepcopy=False, states=(TrialState.RUNNING,))
    processes = {str(trial.user_attrs.get(PROCESS)) for trial in running} | {this_process()}
    host = this_process().rpartition(":")[0]
    here = sum(process.rpartition(":")[0] == host for process in processes)
    torch.set_num_threads(max(1, available_cores() // here))


@contextmanager
def threads_kept() -> Iterator[None]:
    """Puts the number of torch's threads back at the end."""
    before = torch.get_num_threads()
    try:
        yield
    finally:
        torch.set_num_threads(before)
