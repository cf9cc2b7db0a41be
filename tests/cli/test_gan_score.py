"""`diffgan gan score`, run as a user runs it."""

from __future__ import annotations

import json
import resource
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from diffgan.cli.gan_score import score
from diffgan.datasets import load_dataset
from diffgan.errors import DiffganError
from diffgan.gan_training import learning
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.training import Training
from diffgan.generators.card import read_card
from tests.cli.here import run_here

LITTLE = ("--samples", "60", "--repeats", "2")


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "diffgan", "gan", "score", *map(str, arguments)]


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command(*arguments), capture_output=True, text=True, timeout=120)


def fails(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("diffgan: ")
    for part in parts:
        assert part in lines[0]


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gan") / "g"
    Training(load_dataset("digits:test"), TrainingSettings(steps=20, width=4, discriminator_width=4), folder).run()
    return folder


@pytest.fixture
def made(trained: Path, tmp_path: Path) -> Path:
    return shutil.copytree(trained, tmp_path / "g")


def test_scores_are_shown_and_kept(made: Path) -> None:
    done = run(made, "--data", "digits:test", *LITTLE)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for part in ("FID", "KID", "95 %", "precision", "coverage", "intended class", "as intended", "nearest, pixels"):
        assert part in done.stdout
    first = read_card(made).scores["learned"]
    again = run_here("gan", "score", made, "--data", "digits:test", *LITTLE, "--json")
    content = json.loads(again.stdout)
    assert content.pop("generator") == "g"
    assert content == first == read_card(made).scores["learned"]
    assert (content["samples"], content["repeats"]) == (60, 2)
    assert set(content["classes"]["shares"]) == set("0123456789")


@pytest.fixture
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Learning in a few updates, for what is run within the test."""
    monkeypatch.setattr(learning, "FEWEST_SEEN", 6400)


@pytest.mark.usefixtures("quickly")
def test_other_data_is_noted(made: Path, capsys: pytest.CaptureFixture[str]) -> None:
    score(made, "digits:judge", samples=60, repeats=2, json=True)
    out, err = capsys.readouterr()
    assert err == "g was trained on other data than digits:judge, which it is scored against.\n"
    assert json.loads(out)["data"] == load_dataset("digits:judge").fingerprint


def test_a_wrong_call_is_one_line(made: Path, tmp_path: Path) -> None:
    fails(run(tmp_path / "absent", "--data", "digits"), "no generator")
    fails(run_here("gan", "score", made, "--data", "digits", "--samples", "1"), "1 samples")


def test_what_is_refused(made: Path, tmp_path: Path) -> None:
    np.savez(tmp_path / "large.npz", images=np.zeros((50, 9, 9), np.uint8), labels=np.arange(50) % 2)
    with pytest.raises(DiffganError, match=r"makes images of 1×8×8, but those of .* have 1×9×9"):
        score(made, str(tmp_path / "large.npz"))
    with pytest.raises(DiffganError, match=r"card\.json"):
        score(tmp_path, "digits")
    with pytest.raises(DiffganError, match="0 repeats"):
        score(made, "digits", repeats=0)
    with pytest.raises(DiffganError, match=r"resnet.*vgg16"):
        score(made, "digits", extractor="resnet")
    with pytest.raises(DiffganError, match="--weights"):
        score(made, "digits", weights=Path("x.pth"))
    with pytest.raises(DiffganError, match="no file of weights"):
        score(made, "digits:test", extractor="vgg16", weights=tmp_path / "no.pth")
    assert read_card(made).scores == {}


def test_a_generator_of_nan_is_refused(made: Path) -> None:
    tensors = load_file(made / "generator.safetensors")
    name = next(name for name, tensor in tensors.items() if tensor.is_floating_point())
    tensors[name] = torch.full_like(tensors[name], torch.nan)
    save_file(tensors, made / "generator.safetensors")
    with pytest.raises(DiffganError, match="NaN"):
        score(made, "digits:test", samples=60, repeats=2)
    assert read_card(made).scores == {}


def test_a_full_disk_costs_the_card_and_not_the_scores(made: Path) -> None:
    def no_more_than_a_kilobyte() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024))

    done = subprocess.run(
        command(made, "--data", "digits:test", *LITTLE, "--json"),
        capture_output=True,
        text=True,
        timeout=120,
        preexec_fn=no_more_than_a_kilobyte,
    )
    assert done.returncode == 0, done.stderr
    assert "cannot be kept" in done.stderr
    assert json.loads(done.stdout)["fid"]["mean"] > 0
    assert read_card(made).scores == {}
    assert sorted(file.name for file in made.glob("*card*")) == ["card.json"]


def test_an_interrupt_leaves_the_card_as_it_was(made: Path) -> None:
    # The note about other data comes before the work starts.
    words = command(made, "--data", "digits:judge", "--repeats", 1000)
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert "other data" in running.stderr.readline()
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 130
        assert running.stderr.read() == "diffgan: interrupted\n"
    assert read_card(made).scores == {}
    assert sorted(file.name for file in made.glob("*card*")) == ["card.json"]


@pytest.mark.usefixtures("quickly")
def test_a_foreign_generator_is_scored(testbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with np.load(testbed / "data" / "mnist_test.npz") as data:
        np.savez(tmp_path / "some.npz", images=data["images"][:300], labels=data["labels"][:300])
    score(
        testbed / "generators" / "mnist_conditional100.pt",
        str(tmp_path / "some.npz"),
        extractor="vgg16",
        weights=testbed / "features" / "vgg16_features_lpips.pth",
        samples=100,
        repeats=1,
        json=True,
    )
    content = json.loads(capsys.readouterr().out)
    assert content["extractor"].startswith("vgg16-")
    assert content["fid"]["low"] is None
    assert content["classes"]["intended"] > 0.5
