"""`diffgan gan tune` as a user runs it: what it prints and leaves, refusals, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from diffgan.generators.generator import load_generator
from tests.cli.here import run_here

CONFIG = "gan: {steps: 16, width: 4, discriminator_width: 4, batch: 16, latent: 8}\n"


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(CONFIG)
    return path


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "diffgan", "gan", *map(str, arguments)]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=240)


def test_what_is_left_is_a_generator_and_what_is_said_is_brief(tmp_path: Path, config: Path) -> None:
    out = tmp_path / "o"
    done = run("tune", "--data", "digits:test", "--config", config, "--trials", 2, "--out", out)
    assert done.returncode == 0, done.stderr
    for part in ("The best trials", "0 configured", "gained", "optuna-dashboard", "samples.png"):
        assert part in done.stdout
    lines = done.stderr.splitlines()
    assert any(line.startswith("trial 0 (as configured): complete, score") for line in lines)
    assert not any("Warning" in line or "[I " in line for line in lines), done.stderr
    assert load_generator(out).classes == 10


def test_a_storage_that_does_not_answer_is_one_line_and_leaves_no_folder(tmp_path: Path) -> None:
    out = tmp_path / "o"
    storage = f"sqlite:///{tmp_path}/no/s.db"
    done = run_here("gan", "tune", "--data", "digits", "--trials", 1, "--storage", storage, "--out", out)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "unable to open database file" in done.stderr
    assert not out.exists()


def test_ctrl_c_keeps_the_best_and_says_how_to_go_on(tmp_path: Path, config: Path) -> None:
    out = tmp_path / "o"
    arguments = command("tune", "--data", "digits:test", "--config", config, "--trials", 500, "--out", out)
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        told = []
        for line in running.stderr:
            told.append(line)
            if line.startswith("trial 1"):
                os.kill(running.pid, signal.SIGINT)
                break
        told += running.stderr.readlines()
        assert running.wait(timeout=60) == 130, told
    assert "--resume" in told[-2]
    assert "interrupted" in told[-1]
    assert not any("Traceback" in line for line in told)
    card = json.loads((out / "card.json").read_text())
    assert card["training"]["tuning"]["trial"] in (0, 1)
    assert (out / "trials.csv").exists()


@pytest.mark.slow
def test_tuning_digits_for_three_minutes_beats_the_settings_as_configured(tmp_path: Path) -> None:
    out = tmp_path / "o"
    done = run("tune", "--data", "digits", "--budget", "3m", "--out", out)
    assert done.returncode == 0, done.stderr
    tuning = json.loads((out / "card.json").read_text())["training"]["tuning"]
    assert 0 < tuning["score"] < 1.5
    assert "FID" in done.stdout
