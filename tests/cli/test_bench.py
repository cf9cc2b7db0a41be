"""`diffgan bench` as a user runs it: exit codes, files, and what a kill leaves."""

from __future__ import annotations

import csv
import json
import runpy
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from diffgan.pipeline import run
from tests.bench.conftest import SAMPLE, STUDY
from tests.cli.here import run_here

RUN = "diffgan.bench.running.run"


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "project"
    shutil.copytree(SAMPLE, folder)
    runpy.run_path(str(folder / "prepare.py"), run_name="__main__")
    (folder / "tiny.yaml").write_text(STUDY, encoding="utf-8")
    return folder


@pytest.fixture(autouse=True)
def project(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    return folder


def change(old: str, new: str) -> None:
    Path("tiny.yaml").write_text(STUDY.replace(old, new), encoding="utf-8")


def test_a_whole_study_is_0_and_leaves_its_files() -> None:
    done = run_here("bench", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    out = Path("runs/bench/tiny")
    assert {"cells.jsonl", "results.csv", "results.md", "results.html"} <= {path.name for path in out.iterdir()}
    assert "[4/4] old-broken/painter/random/1: DV " in done.stderr
    assert "; about " in done.stderr
    assert "old-broken, painter: at the end of the budget" in done.stdout
    with (out / "results.csv").open(encoding="utf-8") as file:
        assert [line["seed"] for line in csv.DictReader(file)] == ["0", "0", "1", "1"]


def test_json_is_all_that_goes_to_standard_output() -> None:
    done = run_here("bench", "tiny.yaml", "--out", "here", "--json")
    content = json.loads(done.stdout)
    assert (content["study"], content["cells"], content["done"]) == ("tiny", 4, 4)
    assert {at["strategy"] for at in content["results"][0]["standings"]} == {"random", "divergence-only"}


def test_a_failed_cell_is_1_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(a: Any, b: Any, wanted: Any, watcher: Any) -> Any:
        if wanted.strategy == "random":
            raise OSError("it is raining")
        return run(a, b, wanted, watcher)

    monkeypatch.setattr(RUN, failing)
    done = run_here("bench", "tiny.yaml")
    assert done.returncode == 1
    assert "Failed: old-broken/painter/random/0: OSError: it is raining" in done.stderr
    assert "2 of 4 cells failed" in done.stderr


def test_an_interrupt_is_130_and_the_same_command_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(a: Any, b: Any, wanted: Any, watcher: Any) -> Any:
        if wanted.seed == 1:
            raise KeyboardInterrupt
        return run(a, b, wanted, watcher)

    monkeypatch.setattr(RUN, interrupted)
    done = run_here("bench", "tiny.yaml")
    assert done.returncode == 130
    assert "2 of 4 cells are done and kept" in done.stderr
    assert Path("runs/bench/tiny/results.html").is_file()
    monkeypatch.setattr(RUN, run)
    done = run_here("bench", "tiny.yaml")
    assert done.returncode == 0, done.stderr
    assert "[3/4]" in done.stderr
    assert "[2/4]" not in done.stderr


def test_a_kill_costs_one_cell_at_most() -> None:
    change("evaluations: 300", "evaluations: 6_000")
    command = [sys.executable, "-m", "diffgan", "bench", "tiny.yaml", "--out", "out"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if line.startswith("[1/4]"):
                break
        process.send_signal(signal.SIGKILL)
    rows = Path("out/cells.jsonl").read_text(encoding="utf-8").splitlines()
    assert 1 <= len(rows) <= 4
    done = run_here("bench", "tiny.yaml", "--out", "out")
    assert done.returncode == 0, done.stderr
    again = Path("out/cells.jsonl").read_text(encoding="utf-8").splitlines()
    assert again[: len(rows)] == rows
    assert len(again) == 4
    assert not Path("out/runs").exists()


@pytest.mark.parametrize(
    ("old", "new", "part"),
    [
        ("[divergence-only, random]", "[nope, random]", "no strategy 'nope'"),
        ("models/broken.pt", "models/none.pt", "models/none.pt"),
        ("models/generator.pt", "none.pt", "generators.painter"),
        ("seeds: 2", "seeds: []", "seeds is empty"),
        ("seeds: 2", "", "seeds is missing"),
        ("batch: 100", "bunch: 100", "no key 'bunch'"),
        ("models/judge.pt", "data/test.npz", "test.npz has an ending"),
        ("pairs:", "pairs: [", "cannot be read as YAML"),
    ],
)
def test_a_mistake_is_2_and_one_line(old: str, new: str, part: str) -> None:
    change(old, new)
    done = run_here("bench", "tiny.yaml", "--out", "out")
    assert done.returncode == 2
    said = [line for line in done.stderr.splitlines() if line.startswith("diffgan: ")]
    assert len(said) == 1
    assert part in said[0]
    assert "Traceback" not in done.stderr
    assert not Path("out/cells.jsonl").exists()


def test_a_changed_study_is_2_with_the_difference() -> None:
    change("seeds: 2", "seeds: 1")
    assert run_here("bench", "tiny.yaml", "--out", "out").returncode == 0
    change("evaluations: 300", "evaluations: 301")
    done = run_here("bench", "tiny.yaml", "--out", "out")
    assert done.returncode == 2
    assert "budget.evaluations was 300, is 301" in done.stderr
