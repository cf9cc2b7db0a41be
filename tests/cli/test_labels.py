"""`diffgan labels` as a user runs it: files in and out, judges, one line for every mistake."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffgan.archive import Archive, TriggerBatch
from diffgan.cli.main import main
from diffgan.datasets import load_dataset
from diffgan.images import ByteImages, ImageSpec, hex_id
from diffgan.models import load_classifier
from diffgan.runs import RunFolder

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


def images(*pixels: int) -> ByteImages:
    return np.array([(pixel, 9) for pixel in pixels], dtype=np.uint8).reshape(-1, 1, 2, 1)


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
    outputs = np.tile(np.array([0.25, 0.75], dtype=np.float32), (4, 1))
    numbers = np.arange(4)
    batch = TriggerBatch(
        images=images(0, 140, 150, 255),
        outputs_a=outputs,
        outputs_b=outputs[:, ::-1].copy(),
        label_a=numbers * 0 + 1,
        label_b=numbers * 0,
        divergence=numbers / 7,
        evaluation=numbers,
        generation=numbers,
        seconds=numbers / 100,
        queries_a=numbers,
        queries_b=numbers,
    )
    with Archive.create(folder.archive, ImageSpec(1, 1, 2), data.classes) as archive:
        archive.add(batch)
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
    assert shell("judge", run, *two).code == 0
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
    assert not (tmp_path / "out.csv").exists()


def test_an_archive_alone_needs_data_to_judge_by(shell: Shell, run: Path, tmp_path: Path) -> None:
    (run / "config.yaml").unlink()
    done = shell("judge", run, "--judge", "py:labels_judges:bright")
    assert done.code == 2
    assert "name it with --data" in done.err
    done = shell("judge", run / "archive.db", "--judge", "py:labels_judges:bright", "--data", tmp_path / "real.npz")
    assert done.code == 0
    assert labels_of(run, "judge:py:labels_judges:bright") == (0, None, None, 1)
