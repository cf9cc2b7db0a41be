"""The command line, run as a user runs it: exit codes, one-line errors, output."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.models.onnx_models import weights, write_dense


def run(*arguments: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "diffgan", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, timeout=120)


def fails(done: subprocess.CompletedProcess[str], *parts: str) -> None:
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    lines = done.stderr.strip().splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("diffgan: ")
    for part in parts:
        assert part in lines[0]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    images = np.random.default_rng(0).integers(0, 256, size=(50, 4, 4, 1), dtype=np.uint8)
    labels = (images.reshape(50, -1) / 255 @ weights()).argmax(axis=1)
    np.savez(tmp_path / "data.npz", images=images, labels=labels)
    return tmp_path / "data.npz"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_dense(tmp_path / "a.onnx", matrix=weights())


def test_help_and_version() -> None:
    assert "inspect" in run("--help").stdout
    assert run("--version").stdout.startswith("diffgan 0.")


def test_inspect_data() -> None:
    done = run("inspect", "digits")
    assert done.returncode == 0
    assert "1,797 of 1×8×8" in done.stdout
    content = json.loads(run("inspect", "digits:judge", "--json").stdout)
    assert content["images"] == sum(content["classes"].values()) == 359


def test_inspect_a_model_alone(model: Path) -> None:
    content = json.loads(run("inspect", model, "--json").stdout)["models"][0]
    assert (content["image"], content["classes"], content["output"]) == ("1×4×4", 3, "probabilities")


def test_inspect_a_pair_on_data(tmp_path: Path, model: Path, data: Path) -> None:
    other = write_dense(tmp_path / "b.onnx", matrix=weights(seed=1) * 5, softmax=False)
    done = run("inspect", model, other, "--data", data, "--b", "output=logits", "--json")
    content = json.loads(done.stdout)
    assert content["models"][0]["accuracy"] == 1.0
    # The first model is always right, so all that differs is what the second gets wrong.
    assert content["disagreements"] == content["only_a_right"] == 50 - content["both_right"] > 0
    assert sum(sum(row.values()) for row in content["disagreement"].values()) == content["disagreements"]
    shown = run("inspect", model, other, "--data", data, "--b", "output=logits").stdout
    assert f"{content['disagreements']} disagreements" in shown
    assert "100.00 %" in shown


def test_inspect_says_the_figures_of_the_test_bed(testbed: Path) -> None:
    models = [testbed / "models" / f"mnist_{name}.onnx" for name in ("m1", "m2")]
    shown = run("inspect", *models, "--data", testbed / "data" / "mnist_test.npz").stdout
    for figure in ("99.25 %", "99.50 %", "82 disagreements"):
        assert figure in shown


def test_a_model_close_to_chance_is_noted(tmp_path: Path, model: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(50, 4, 4, 1), dtype=np.uint8)
    labels = ((images.reshape(50, -1) / 255 @ weights()).argmax(axis=1) + 1) % 3
    np.savez(tmp_path / "swapped.npz", images=images, labels=labels)
    done = run("inspect", model, "--data", tmp_path / "swapped.npz")
    assert done.returncode == 0
    assert "close to chance" in done.stderr


def test_a_missing_model(tmp_path: Path) -> None:
    fails(run("inspect", tmp_path / "no.onnx"), "There is no file", "no.onnx")


def test_no_such_data(model: Path) -> None:
    fails(run("inspect", model, "--data", "digit"), "did you mean digits")


def test_data_of_another_size(model: Path) -> None:
    fails(run("inspect", model, "--data", "digits"), "a.onnx takes images of 1×4×4", "1×8×8")


def test_two_models_of_different_classes(tmp_path: Path, model: Path, data: Path) -> None:
    other = write_dense(tmp_path / "b.onnx", matrix=weights(classes=4))
    fails(run("inspect", model, other, "--data", data), "answers 3 classes and b.onnx 4")


def test_class_names_in_another_order(tmp_path: Path, model: Path) -> None:
    other = write_dense(tmp_path / "b.onnx", matrix=weights(seed=1))
    done = run("inspect", model, other, "--a", "classes=[x, y, z]", "--b", "classes=[x, z, y]")
    fails(done, "name their classes differently ('y', 'z')")


def test_data_with_more_classes_than_the_model(tmp_path: Path, model: Path) -> None:
    np.savez(tmp_path / "d.npz", images=np.zeros((5, 4, 4), np.uint8), labels=np.arange(5))
    fails(run("inspect", model, "--data", tmp_path / "d.npz"), "3 classes, but", "has 5")


def test_an_unknown_option(model: Path) -> None:
    fails(run("inspect", model, "--a", "layuot=NHWC"), "--a", "did you mean 'layout'")


def test_options_of_a_second_model_without_one(model: Path) -> None:
    fails(run("inspect", model, "--b", "layout=NHWC"), "--b is for a second model")


def test_data_is_shown_alone(model: Path) -> None:
    fails(run("inspect", "digits", model), "digits is data")


def test_python_models_on_the_command_line(tmp_path: Path, data: Path) -> None:
    code = "import numpy as np\ndef half(images): return np.full((len(images), 3), 1 / 3)\n"
    (tmp_path / "my_net.py").write_text(code)
    done = run("inspect", "py:my_net:half", "--data", data, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["models"][0]["classes"] == 3


def test_a_wrong_command_exits_with_two() -> None:
    done = run("inspct")
    assert done.returncode == 2
    assert "inspect" in done.stderr


def test_a_closed_pipe_is_silent() -> None:
    command = f"{sys.executable} -m diffgan inspect digits --json | head -c 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
