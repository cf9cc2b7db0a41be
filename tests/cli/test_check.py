"""`diffgan check` as a user runs it: exit codes, and what goes where."""

from __future__ import annotations

import json
import runpy
import shutil
from pathlib import Path

import pytest

from tests.cli.here import run_here

SAMPLE = Path(__file__).resolve().parents[1] / "check" / "sample_project"
SHORT = ["--data", "data/test.npz", "--generator", "models/generator.pt", "--strategy", "random", "--no-filters"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "project"
    shutil.copytree(SAMPLE, folder)
    runpy.run_path(str(folder / "prepare.py"), run_name="__main__")
    return folder


@pytest.fixture(autouse=True)
def project(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    return folder


def test_a_pass_is_0_and_json_is_the_summary() -> None:
    done = run_here("check", "models/old.pt", "models/new.pt", *SHORT, "--evaluations", 1000, "--json", "--out", "run")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["check"]["passed"]
    assert summary["evaluations"] == 1000
    assert summary == json.loads(Path("run/summary.json").read_text(encoding="utf-8"))


def test_a_failure_is_1_and_says_why() -> None:
    done = run_here("check", "models/old.pt", "models/broken.pt", *SHORT, "--evaluations", 1000)
    assert done.returncode == 1
    assert "FAILED" in done.stdout
    assert "Failed: " in done.stderr
    assert "significantly worse" in done.stderr
    assert Path("runs/check-001/summary.json").is_file()


@pytest.mark.parametrize(
    ("extra", "part"),
    [
        (["--resume"], "--out"),
        (["--budget", "0s"], "0s"),
        (["--suite", "nowhere"], "nowhere"),
        (["--max-regressions", "1"], "--judge"),
        (["--junit", "data"], "--junit"),
        (["--generator", "models/old.pt"], "sidecar"),
    ],
)
def test_a_mistake_is_2_and_one_line(extra: list[str], part: str) -> None:
    done = run_here("check", "models/old.pt", "models/new.pt", *SHORT, *extra)
    assert done.returncode == 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("diffgan: ")]
    assert len(lines) == 1
    assert part in lines[0]
    assert "Traceback" not in done.stderr
