"""Studies: started, joined, gone on with, refused; trials of killed processes; storages that do not answer."""

from __future__ import annotations

import socket
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from optuna import Study
from optuna.trial import TrialState

from diffgan.datasets import Dataset
from diffgan.errors import DiffganError, GeneratorError, UsageError
from diffgan.gan_training.cores import share_cores, threads_kept
from diffgan.gan_training.presence import present
from diffgan.gan_training.search_space import LENGTH, SHORTEST, TUNED, configured, search_space, settings_at
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.storage import JOURNAL, open_database, shown
from diffgan.gan_training.study import (
    ABANDONED,
    DEFAULTS,
    PRESENCE,
    PROCESS,
    Opened,
    Plan,
    fail_left_behind,
    open_study,
    this_process,
)
from diffgan.gan_training.tuning_results import rows_of
from diffgan.system import available_cores

BASE = TrainingSettings(steps=40, width=8, discriminator_width=6)


def made(seed: int = 0) -> Dataset:
    rng = np.random.default_rng(seed)
    return Dataset.checked("made", rng.integers(0, 256, (20, 8, 8, 1), dtype=np.uint8), np.arange(20) % 2)


PLAN = Plan.of(made(), BASE, 0)


def start(out: Path, plan: Plan = PLAN, *, url: str | None = None, resume: bool = False) -> Opened:
    return open_study(out, plan, url=url, resume=resume)


def dead_process() -> str:
    with subprocess.Popen([sys.executable, "-c", ""]) as gone:
        gone.wait()
    return f"{socket.gethostname()}:{gone.pid}"


def ask(study: Study) -> int:
    return study.ask(fixed_distributions=search_space(BASE)).number


def test_the_first_trial_is_the_configuration_itself(tmp_path: Path) -> None:
    study = start(tmp_path / "o").study
    trial = study.ask(fixed_distributions=search_space(BASE))
    assert trial.user_attrs[DEFAULTS]
    assert trial.params == configured(BASE)
    assert settings_at(trial.params, BASE) == BASE
    other = study.ask(fixed_distributions=search_space(BASE))
    assert other.params != trial.params


@pytest.mark.parametrize(
    "base",
    [BASE, TrainingSettings(generator_rate=0.5, discriminator_rate=1e-7, beta1=0.95, batch=500, width=1)],
)
def test_the_search_space_holds_the_configuration_and_bounds_the_width(base: TrainingSettings) -> None:
    space, point = search_space(base), configured(base)
    assert set(space) == set(point) == {*TUNED, LENGTH}
    for name, distribution in space.items():
        assert distribution._contains(distribution.to_internal_repr(point[name])), name
    assert space["width"].high <= max(2, 2 * base.width)  # type: ignore[attr-defined]
    assert (space[LENGTH].low, space[LENGTH].high) == (SHORTEST, 1.0)  # type: ignore[attr-defined]


def test_other_data_settings_or_seeds_are_other_studies() -> None:
    names = {
        PLAN.name,
        Plan.of(made(1), BASE, 0).name,
        Plan.of(made(), BASE.model_copy(update={"average": 0.9}), 0).name,
        Plan.of(made(), BASE, 1).name,
    }
    assert len(names) == 4
    assert Plan.of(made(), BASE, 0).name == PLAN.name


def test_going_on_keeps_the_trials(tmp_path: Path) -> None:
    study = start(tmp_path / "o").study
    study.tell(ask(study), 3.0)
    again = start(tmp_path / "o", resume=True)
    assert not again.created
    assert [trial.value for trial in again.study.trials] == [3.0]


@pytest.mark.parametrize("broken", ["optuna.create_study", "optuna.Study.enqueue_trial"])
def test_a_beginning_that_was_broken_off_is_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(broken, interrupt)
        with pytest.raises(KeyboardInterrupt):
            start(tmp_path / "o")
    study = start(tmp_path / "o", resume=True).study
    assert len(study.trials) == 1
    assert study.ask(fixed_distributions=search_space(BASE)).params == configured(BASE)


def test_a_study_that_was_lost_is_not_begun_anew_over_its_trials(tmp_path: Path) -> None:
    ask(start(tmp_path / "o").study)
    (tmp_path / "o" / "trials" / "0000").mkdir(parents=True)
    (tmp_path / "o" / JOURNAL).unlink()
    with pytest.raises(GeneratorError, match="There is no study"):
        start(tmp_path / "o", resume=True)


def test_going_on_otherwise_is_refused_with_the_difference(tmp_path: Path) -> None:
    start(tmp_path / "o")
    wider = Plan.of(made(), BASE.model_copy(update={"width": 9}), 0)
    with pytest.raises(GeneratorError, match="width was 8, is 9"):
        start(tmp_path / "o", wider, resume=True)
    other = made(1).fingerprint
    with pytest.raises(GeneratorError, match=f"data was {made().fingerprint}, is {other}"):
        start(tmp_path / "o", Plan.of(made(1), BASE, 0), resume=True)
    with pytest.raises(UsageError, match="own journal, not in sqlite"):
        start(tmp_path / "o", url="sqlite:///x.db", resume=True)


def test_a_folder_in_use_is_left_alone_and_a_new_one_has_nothing_to_go_on_with(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(GeneratorError, match="not empty"):
        start(tmp_path)
    with pytest.raises(GeneratorError, match="no tuning to go on with"):
        start(tmp_path / "new", resume=True)
    with pytest.raises(GeneratorError, match="There is no study diffgan-made"):
        start(tmp_path / "new", url=f"sqlite:///{tmp_path / 's.db'}", resume=True)
    assert not (tmp_path / "new").exists()


def test_a_database_is_joined_from_another_folder(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 's.db'}"
    first = start(tmp_path / "one", url=url)
    first.study.tell(ask(first.study), 2.0)
    joined = start(tmp_path / "two", url=url)
    assert (first.created, joined.created) == (True, False)
    assert ask(joined.study) == 1
    assert not list((tmp_path / "one").glob("*.journal"))


def test_processes_that_join_draw_other_values(tmp_path: Path) -> None:
    first = start(tmp_path / "o").study
    ask(first)
    second = start(tmp_path / "o", resume=True).study
    ask(first)
    ask(second)
    points = [tuple(trial.params.items()) for trial in first.trials]
    assert len(set(points)) == 3


def test_trials_of_killed_processes_begin_again(tmp_path: Path) -> None:
    study = start(tmp_path / "o").study
    for process in (dead_process(), "another-host:1"):
        study.ask(fixed_distributions=search_space(BASE)).set_user_attr(PROCESS, process)
    lost = study.trials[0]
    assert fail_left_behind(study, tmp_path / "o") == 1
    assert [trial.state for trial in study.trials] == [TrialState.FAIL, TrialState.RUNNING, TrialState.WAITING]
    assert study.trials[0].user_attrs[ABANDONED]
    again = study.ask(fixed_distributions=search_space(BASE))
    assert again.params == lost.params
    assert again.user_attrs[DEFAULTS]
    # It is neither listed nor counted twice.
    assert [row.number for row in rows_of(study)] == [1, 2]


def test_where_the_folder_is_shared_a_lock_says_who_runs_whatever_its_number(tmp_path: Path) -> None:
    """As in containers: the first one's number is nobody's here, and the second one's host is another."""
    study = start(tmp_path / "o").study
    with present(tmp_path / "o") as alive, present(tmp_path / "o") as killed:
        assert alive is not None
        assert killed is not None
        for token, process in ((alive, dead_process()), (killed, "another-host:1")):
            trial = study.ask(fixed_distributions=search_space(BASE))
            trial.set_user_attr(PROCESS, process)
            trial.set_user_attr(PRESENCE, token)
        assert fail_left_behind(study, tmp_path / "o") == 0
        (tmp_path / "o" / ".present" / killed).rename(tmp_path / "o" / ".present" / "kept")
        (tmp_path / "o" / ".present" / killed).touch()  # as a kill leaves it
        assert fail_left_behind(study, tmp_path / "o") == 1
        assert [trial.state for trial in study.trials[:2]] == [TrialState.RUNNING, TrialState.FAIL]
    assert not (tmp_path / "o" / ".present" / alive).exists()


def test_processes_of_one_machine_share_its_cores(tmp_path: Path) -> None:
    study = start(tmp_path / "o").study
    with threads_kept():
        before = torch.get_num_threads()
        for process in (this_process(), f"{socket.gethostname()}:1", "another-host:1"):
            study.ask(fixed_distributions=search_space(BASE)).set_user_attr(PROCESS, process)
        share_cores(study)
        assert torch.get_num_threads() == max(1, available_cores() // 2)
    assert torch.get_num_threads() == before


def test_a_line_cut_off_by_a_kill_does_not_spoil_the_journal(tmp_path: Path) -> None:
    study = start(tmp_path / "o").study
    study.tell(ask(study), 3.0)
    with (tmp_path / "o" / "study.journal").open("ab") as file:
        file.write(b'{"op_code":4,"worker')
    again = start(tmp_path / "o", resume=True).study
    study_number = ask(again)
    assert study_number == 1
    assert len(start(tmp_path / "o", resume=True).study.trials) == 2


def test_a_disk_that_is_full_for_a_while_does_not_spoil_the_journal(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="this system has no limits to the size of files")
    study = start(tmp_path / "o").study
    before = (tmp_path / "o" / "study.journal").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            ask(study)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "o" / "study.journal").read_bytes() == before
    again = start(tmp_path / "o", resume=True).study
    assert ask(again) == 0


def test_a_damaged_journal_or_record_is_one_clear_line(tmp_path: Path) -> None:
    start(tmp_path / "o")
    journal = tmp_path / "o" / "study.journal"
    whole = journal.read_bytes()
    journal.write_bytes(b"what is this\n" + whole)
    with pytest.raises(GeneratorError, match="is damaged"):
        start(tmp_path / "o", resume=True)
    journal.write_bytes(whole)
    (tmp_path / "o" / "study.json").write_text("[]")
    with pytest.raises(GeneratorError, match=r"study\.json is none of"):
        start(tmp_path / "o", resume=True)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("nonsense", "is no storage URL: give postgresql"),
        ("postgres//me:secret@host", "is no storage URL"),
        ("nosuch://me:secret@host/db", "no such kind of database"),
        ("redis://localhost", "Redis is none"),
        ("mysql+nodriver://me:secret@host/db", "no such kind of database"),
        ("postgresql+pg8000://me:secret@host/db", "pg8000.* not installed: pip install"),
        ("sqlite:////nowhere/at/all/s.db", "unable to open database file"),
    ],
)
def test_a_storage_that_cannot_be_used_says_why(url: str, message: str) -> None:
    with pytest.raises(DiffganError, match=message) as caught:
        open_database(url)
    assert "secret" not in str(caught.value)


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.db").write_text("not a database at all" * 100)
    with pytest.raises(UsageError, match="file is not a database"):
        open_database(f"sqlite:///{tmp_path / 's.db'}")


def test_a_server_that_does_not_answer_is_one_clear_line() -> None:
    pytest.importorskip("psycopg")
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"postgresql+psycopg://me:secret@127.0.0.1:{unused.getsockname()[1]}/db"
        with pytest.raises(UsageError, match=r"cannot be used .*refused") as caught:
            open_database(url)
    assert "secret" not in str(caught.value)


def test_passwords_are_never_shown() -> None:
    assert shown("postgresql://me:secret@host/db") == "postgresql://me:***@host/db"
    assert "secret" not in shown("me:secret@host:what//ever")
