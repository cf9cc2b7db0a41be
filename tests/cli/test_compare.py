"""`diffgan compare` as a user runs it: real classifiers, Ctrl-C, going on, one-line errors."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from diffgan.cli.compare import finds_of
from diffgan.datasets import load_dataset
from diffgan.demo import train_classifiers, write_best
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.training import Training
from tests.cli.here import run_here


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "diffgan", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What `compare` is given: two classifiers, their data and a generator."""
    folder = tmp_path_factory.mktemp("pair")
    models = [one.path for one in train_classifiers("digits", folder / "models", seed=0)]
    settings = TrainingSettings(steps=400, width=4, discriminator_width=8, batch=16, latent=8)
    Training(load_dataset("digits:test"), settings, folder / "gan").run()
    return [*map(str, models), "--data", "digits:test", "--generator", str(folder / "gan")]


def test_the_demos_classifiers_are_good_and_differ(tmp_path: Path) -> None:
    trained = train_classifiers("digits", tmp_path, seed=0)
    assert [one.path.name for one in trained] == ["convolutional.pt2", "dense.pt2"]
    assert all(0.94 < one.accuracy < 1 for one in trained)


def test_a_search_ends_with_a_summary(pair: list[str], tmp_path: Path) -> None:
    done = run("compare", *pair, "--evaluations", 3000, "--strategy", "random", "--out", tmp_path / "run", "--json")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["evaluations"] == 3000
    assert summary["unique"] > 0
    assert list(summary["filters"]) == ["recognisable", "ssim"]
    assert "<html" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
    assert summary == json.loads((tmp_path / "run" / "summary.json").read_text())
    shown = run("inspect", tmp_path / "run")
    assert f"{summary['unique']:,}" in shown.stdout
    assert write_best(tmp_path / "run" / "archive.db", tmp_path / "best.png") > 0
    assert (tmp_path / "best.png").stat().st_size > 0


def test_ctrl_c_ends_it_well_and_it_goes_on(pair: list[str], tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["compare", *pair, "--budget", "10m", "--strategy", "random", "--out", str(out)]
    with subprocess.Popen(
        [sys.executable, "-m", "diffgan", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stderr is not None
        for line in running.stderr:
            if "images (" in line:
                running.send_signal(signal.SIGINT)
                break
        _, errors = running.communicate(timeout=100)
    assert running.returncode == 130
    assert "--resume" in errors
    assert f"diffgan filter {out}" in errors
    stopped = json.loads((out / "summary.json").read_text())
    assert stopped["ended_by"] == "stopped"
    more = stopped["evaluations"] + 1000
    where = ["--strategy", "random", "--out", out, "--resume", "--json"]
    done = run("compare", *pair, "--evaluations", more, *where, "--no-filters", "--no-report")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["evaluations"] == more


@pytest.mark.parametrize(
    ("extra", "part"),
    [
        (["--budget", "0s"], "0s"),
        (["--strategy", "best"], "nsga2"),
        (["--resume"], "--out"),
    ],
)
def test_a_mistake_is_one_line(pair: list[str], tmp_path: Path, extra: list[str], part: str) -> None:
    out = [] if extra == ["--resume"] else ["--out", str(tmp_path / "run")]
    done = run_here("compare", *pair, *extra, *out)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("diffgan: ")]
    assert len(lines) == 1
    assert part in lines[0]
    assert "Traceback" not in done.stderr


def test_a_folder_in_use_is_left_alone(pair: list[str], tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    done = run_here("compare", *pair, "--evaluations", 100, "--out", tmp_path)
    assert done.returncode == 2
    assert "not empty" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_finds_are_told_where_a_strategy_has_some(pair: list[str], tmp_path: Path) -> None:
    limits = ["--evaluations", 4000, "--no-filters", "--no-report"]
    done = run("compare", *pair, *limits, "--out", tmp_path / "run")
    assert done.returncode == 0, done.stderr
    finds = json.loads((tmp_path / "run" / "summary.json").read_text())["search"]["finds"]
    assert finds > 0
    assert f"{finds:,} that are distinct and look valid to the search" in done.stdout
    assert finds_of({}) == ""
    assert finds_of({"finds": 1200, "look_valid": False}) == "1,200 that are distinct"
    assert finds_of({"finds": 1200, "look_valid": True}) == "1,200 that are distinct and look valid to the search"
