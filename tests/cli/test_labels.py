"""`diffgan labels` as a user runs it: files in and out, judges, one line for every mistake."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffgan.archive import Archive
from diffgan.cli.main import main
from diffgan.datasets import load_dataset
from diffgan.images import ImageSpec, hex_id
from diffgan.models import load_classifier
from diffgan.runs import RunFolder
from tests.labels.triggers import batch, images

JUDGES = """
import numpy as np

def _answer(images, bias):
    bright = np.clip(images[:, 0, 0, 0] - np.float32(bias), 0, 1)
    return np.stack([1 - bright, bright], axis=1).astype(np.float32)

def bright(images):
    return _answer(images, 0.0)

def dim(images):
    return _answer(images, 0.2)

def copy(images):
    return bright(images)

def sure(images):
    return np.tile(np.float32([0, 1]), (len(images), 1))
"""


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


class Shell:
    """Runs commands in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capfd = monkeypatch, capfd

    def __call__(self, *arguments: object) -> Done:
        self._capfd.readouterr()
        self._monkeypatch.setattr(sys, "argv", ["diffgan", "labels", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = self._capfd.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    (tmp_path / "labels_judges.py").write_text(JUDGES)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "labels_judges", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    return Shell(monkeypatch, capfd)


def write_data(path: Path, *pixels: int) -> Path:
    labels = np.arange(len(pixels)) % 2
    np.savez(path, images=images(*pixels), labels=labels, classes=np.array(["dark", "light"]))
    return path


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run on four triggers; tests/labels/test_judging.py has the judges' answers by hand."""
    data = load_dataset(write_data(tmp_path / "real.npz", 0, 51, 102, 153, 255))
    described = {"name": data.name, "fingerprint": data.fingerprint}
    folder = RunFolder.create(tmp_path / "run", {"data": described, "models": {}})
    with Archive.create(folder.archive, ImageSpec(1, 1, 2), data.classes) as archive:
        archive.add(batch(0, 140, 150, 255))
    return folder.path


def labels_of(run: Path, annotator: str) -> tuple[int | None, ...]:
    with Archive.open(run / "archive.db", read_only=True) as archive:
        return archive.labels.read(annotator).classes


def first_id(run: Path) -> str:
    with Archive.open(run / "archive.db", read_only=True) as archive:
        return hex_id(archive.column("ids")[0])


def test_labels_come_in_and_go_out_again(shell: Shell, run: Path, tmp_path: Path) -> None:
    lines = ["id;label", f"{first_id(run)};dark", f"{first_id(run)};light"]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    done = shell("import", run, tmp_path / "in.csv", "--annotator", "ann")
    assert done.code == 0, done.err
    assert "1 label in the file: 1 by ann" in done.err
    assert "1 row gave way to a later one" in done.err
    assert labels_of(run, "ann") == (1,)
    done = shell("export", run / "archive.db", tmp_path / "out.csv")
    assert (done.code, done.err) == (0, f"1 label written to {tmp_path / 'out.csv'}\n")
    assert (tmp_path / "out.csv").read_text().splitlines() == ["id,label,annotator", f"{first_id(run)},light,ann"]
    done = shell("import", run, tmp_path / "out.csv")
    assert "0 new, 0 changed, 1 already there" in done.err


def test_judges_label_under_their_names(shell: Shell, run: Path) -> None:
    two = ["--judge", "py:labels_judges:dim", "--judge", "py:labels_judges:bright"]
    done = shell("judge", run, *two)
    assert done.code == 0, done.err
    name = "judge:py:labels_judges:bright+py:labels_judges:dim"
    assert labels_of(run, name) == (0, 0, None, 1)
    assert f"Labels by {name}" in done.out
    assert "3 (75.00 %)" in done.out
    done = shell("judge", run, *two, "--rule", "majority")
    assert "1 (25.00 %), not labelled" in done.out
    assert labels_of(run, f"{name} (majority)") == (0, None, 1)
    again = shell("judge", run, *two)
    assert again.code == 0
    assert "under this name, replaced" in again.out
    assert "replaced" not in done.out
    assert labels_of(run, name) == (0, 0, None, 1)


def test_a_model_under_test_as_judge_is_told(shell: Shell, run: Path) -> None:
    model = load_classifier("py:labels_judges:bright", spec=ImageSpec(1, 1, 2))
    config = RunFolder(run).config() | {"models": {"a": {"source": "elsewhere", "fingerprint": model.fingerprint}}}
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    done = shell("judge", run, "--judge", "py:labels_judges:bright", "--judge", "py:labels_judges:dim")
    assert done.code == 0
    assert "py:labels_judges:bright is one of the two models of this run" in done.err
    assert "labels_judges:dim is one" not in done.err


def test_changed_data_is_refused_and_other_data_may_be_named(shell: Shell, run: Path, tmp_path: Path) -> None:
    judge = ["--judge", "py:labels_judges:bright"]
    write_data(tmp_path / "real.npz", 0, 51, 102, 153, 254)
    done = shell("judge", run, *judge)
    assert done.code == 2
    assert "no longer the data of the run" in done.err
    assert "--data" in done.err
    done = shell("judge", run, *judge, "--data", tmp_path / "real.npz")
    assert done.code == 0
    assert "is not the data of this run" in done.err
    (tmp_path / "real.npz").unlink()
    done = shell("judge", run, *judge)
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    assert "--data" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["judge", "RUN"], "--judge"),
        (["judge", "RUN", "--judge", "none.onnx"], "There is no file none.onnx"),
        (["judge", "RUN", "--judge", "py:labels_judges:sure"], "none would be valid"),
        (["judge", "RUN", "--judge", "py:labels_judges:dim", "--judge", "py:labels_judges:dim"], "each judge once"),
        (["judge", "RUN", "--judge", "py:labels_judges:bright", "--judge", "py:labels_judges:copy"], "the same model"),
        (["judge", "RUN", "--judge", "py:labels_judges:dim", "--rule", "best"], "'best'"),
        (["judge", "RUN", "--judge", "py:labels_judges:dim", "--data", "digits"], "1×8×8"),
        (["import", "RUN", "none.csv"], "none.csv cannot be read"),
        (["export", "RUN", "out.csv", "--annotator", "ann"], "ann has labelled nothing"),
        (["export", "elsewhere", "out.csv"], "elsewhere is no folder"),
        (["export", "RUN", "out.csv", "--kept"], "choose tasks for Label Studio"),
        (["export", "RUN", "out.json", "--conflicts"], "nothing to label"),
        (["export", "RUN", "out.json", "--sample", "5"], "expected 1 to 4"),
        (["export", "RUN", "out.json", "--blank", "--annotator", "ann"], "give one of the two"),
        (["import", "RUN", "none.json"], "none.json cannot be read"),
        (["import", "RUN", "real.npz", "--format", "label-studio"], "real.npz, line 1"),
        (["import", "RUN", "none.csv", "--rename", "ann"], "is no OLD=NEW"),
        (["import", "RUN", "none.csv", "--format", "coco"], "'coco'"),
        (["agreement", "elsewhere"], "elsewhere is no folder"),
        (["conflicts", "elsewhere"], "elsewhere is no folder"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_written(
    shell: Shell, run: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, arguments: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    done = shell(*(run if argument == "RUN" else argument for argument in arguments))
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert said in done.err
    with Archive.open(run / "archive.db", read_only=True) as archive:
        assert archive.labels.counts() == {}
    assert not list(tmp_path.glob("out.*"))


def test_an_archive_alone_needs_data_to_judge_by(shell: Shell, run: Path, tmp_path: Path) -> None:
    (run / "config.yaml").unlink()
    done = shell("judge", run, "--judge", "py:labels_judges:bright")
    assert done.code == 2
    assert "name it with --data" in done.err
    done = shell("judge", run / "archive.db", "--judge", "py:labels_judges:bright", "--data", tmp_path / "real.npz")
    assert done.code == 0
    assert labels_of(run, "judge:py:labels_judges:bright") == (0, None, None, 1)


@pytest.fixture
def labelled(run: Path) -> Path:
    """Two people agree on the first trigger, and judges on the last; on the others, there are conflicts."""
    with Archive.open(run / "archive.db") as archive:
        ids = archive.column("ids")
        archive.labels.write("ann", ids[:2], [0, 0])
        archive.labels.write("bo", ids[:2], [0, None])
        archive.labels.write("judge:m1+m2", ids, [0, 0, 0, 1])
        archive.labels.write("judge:m1+m2 (majority)", ids[2:], [1, 1])
    return run


def test_agreement_is_shown_and_people_and_judges_apart(shell: Shell, labelled: Path) -> None:
    done = shell("agreement", labelled)
    assert done.code == 0, done.err
    lines = [" ".join(line.split()) for line in done.out.splitlines()]
    assert "labelled 4, of which 2 by judges alone" in lines
    assert "settled 2 (50.00 %)" in lines
    assert "in conflict 2 (50.00 %): diffgan labels conflicts lists them" in lines
    assert lines.index("ann 2 labels") < lines.index("Judges (machine labels)") < lines.index("judge:m1+m2 4 labels")
    assert "label 0 1 0 1" in lines
    # ann 0 0, bo 0 invalid: half the same, as chance has it; in some resamples, one category alone is left.
    assert "ann & bo label 2 50.00 % 0.00 (-1.00 to 1.00)" in lines
    assert "valid or not 2 50.00 % 0.00 (-1.00 to 1.00)" in lines
    # People have settled the first alone: one category.
    assert "judge:m1+m2 label 1 100.00 % undefined" in lines


def test_agreement_in_json(shell: Shell, labelled: Path) -> None:
    found = json.loads(shell("agreement", labelled, "--json").out)
    assert (found["triggers"], found["conflicts"], found["people"]["annotators"]) == (4, 2, {"ann": 2, "bo": 2})
    (pair,) = found["judges"]["pairs"]
    assert pair["annotators"] == ["judge:m1+m2", "judge:m1+m2 (majority)"]
    assert (pair["agreed"]["label"]["items"], pair["agreed"]["label"]["kappa"]) == (2, 0)
    assert pair["agreed"]["validity"]["kappa"] is None


def test_without_labels_agreement_and_conflicts_say_so(shell: Shell, run: Path, tmp_path: Path) -> None:
    done = shell("agreement", run)
    assert (done.code, "none: see diffgan label" in done.out) == (0, True)
    done = shell("conflicts", run, "--out", tmp_path / "out.csv")
    assert (done.code, done.err) == (0, "No labels are in conflict: there is nothing to decide.\n")
    assert not (tmp_path / "out.csv").exists()


def test_conflicts_are_listed_decided_and_gone(shell: Shell, labelled: Path, tmp_path: Path) -> None:
    shown = shell("conflicts", labelled)
    assert shown.code == 0, shown.err
    assert "2 conflicts, 1 of judges alone" in shown.out
    assert "ann: dark, bo: invalid, judge:m1+m2: dark" in shown.out
    assert shell("conflicts", labelled, "--out", tmp_path / "list.csv").code == 0
    text = (tmp_path / "list.csv").read_text()
    (tmp_path / "list.csv").write_text(text.replace(",,decided", ",light,decided"))
    done = shell("import", labelled, tmp_path / "list.csv", "--rename", "decided=decided:cy")
    assert "2 labels in the file: 2 by decided:cy" in done.err
    assert "nothing to decide" in shell("conflicts", labelled).err
    assert "2 by decided:cy" in shell("agreement", labelled).out


def test_label_studio_and_back(shell: Shell, labelled: Path, tmp_path: Path) -> None:
    file = tmp_path / "tasks.json"
    done = shell("export", labelled, file, "--conflicts")
    assert done.code == 0, done.err
    assert "2 tasks with 2 labels and 3 predictions of judges" in done.err
    assert str(tmp_path / "tasks.xml") in done.err
    assert "refuses labels by names that are no e-mail of its users (ann, bo)" in done.err
    done = shell("import", labelled, file)
    assert "0 new, 0 changed, 5 already there" in done.err
    tasks = json.loads(file.read_text())
    chosen = [{"from_name": "label", "to_name": "image", "type": "choices", "value": {"choices": ["light"]}}]
    for task in tasks:
        task["annotations"] = [{"completed_by": 1, "was_cancelled": False, "result": chosen}]
    file.write_text(json.dumps([tasks[0], tasks[1] | {"annotations": []}]))
    done = shell("import", labelled, file, "--rename", "user 1=decided")
    assert "Passed over: tasks without annotations (1)." in done.err
    assert labels_of(labelled, "decided") == (1,)
    blank = shell("export", labelled, tmp_path / "blank", "--blank", "--sample", "1", "--format", "label-studio")
    assert "1 task with 0 labels and 0 predictions" in blank.err
    assert (tmp_path / "blank.xml").exists()
