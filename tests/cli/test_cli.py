"""The command line, run as a user runs it: exit codes, one-line errors, output.

Each kind of call is made in a process of its own once at least; `run_here` does for the others.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.cli.here import run_here
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
    assert run_here("--version").stdout.startswith("diffgan 0.")


def test_inspect_data() -> None:
    done = run("inspect", "digits")
    assert done.returncode == 0
    assert "1,797 of 1×8×8" in done.stdout
    content = json.loads(run_here("inspect", "digits:judge", "--json").stdout)
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
    shown = run_here("inspect", model, other, "--data", data, "--b", "output=logits").stdout
    assert f"{content['disagreements']} disagreements" in shown
    assert "100.00 %" in shown


def test_inspect_says_the_figures_of_the_test_bed(testbed: Path) -> None:
    models = [testbed / "models" / f"mnist_{name}.onnx" for name in ("m1", "m2")]
    shown = run_here("inspect", *models, "--data", testbed / "data" / "mnist_test.npz").stdout
    for figure in ("99.25 %", "99.50 %", "82 disagreements"):
        assert figure in shown


def test_a_model_close_to_chance_is_noted(tmp_path: Path, model: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, size=(50, 4, 4, 1), dtype=np.uint8)
    labels = ((images.reshape(50, -1) / 255 @ weights()).argmax(axis=1) + 1) % 3
    np.savez(tmp_path / "swapped.npz", images=images, labels=labels)
    done = run_here("inspect", model, "--data", tmp_path / "swapped.npz")
    assert done.returncode == 0
    assert "close to chance" in done.stderr


def test_inspect_a_generator(testbed: Path) -> None:
    path = testbed / "generators" / "mnist_conditional100.pt"
    content = json.loads(run("inspect", path, "--json").stdout)
    assert (content["latent"], content["classes"], content["image"]) == (100, 10, "1×28×28")
    assert "images per second" in run_here("inspect", path).stdout
    fails(run_here("inspect", path, "--data", "digits"), "is a generator")


def test_a_missing_model(tmp_path: Path) -> None:
    fails(run("inspect", tmp_path / "no.onnx"), "There is no file", "no.onnx")


def test_no_such_data(model: Path) -> None:
    fails(run_here("inspect", model, "--data", "digit"), "did you mean digits")


def test_a_name_close_to_datas_gets_a_hint() -> None:
    fails(run_here("inspect", "MNST"), "did you mean mnist")


def test_data_of_another_size(model: Path) -> None:
    fails(run_here("inspect", model, "--data", "digits"), "a.onnx takes images of 1×4×4", "1×8×8")


def test_two_models_of_different_classes(tmp_path: Path, model: Path, data: Path) -> None:
    other = write_dense(tmp_path / "b.onnx", matrix=weights(classes=4))
    fails(run_here("inspect", model, other, "--data", data), "answers 3 classes and b.onnx 4")


def test_class_names_in_another_order(tmp_path: Path, model: Path) -> None:
    other = write_dense(tmp_path / "b.onnx", matrix=weights(seed=1))
    done = run_here("inspect", model, other, "--a", "classes=[x, y, z]", "--b", "classes=[x, z, y]")
    fails(done, "name their classes differently ('y', 'z')")


def test_data_with_more_classes_than_the_model(tmp_path: Path, model: Path) -> None:
    np.savez(tmp_path / "d.npz", images=np.zeros((5, 4, 4), np.uint8), labels=np.arange(5))
    fails(run_here("inspect", model, "--data", tmp_path / "d.npz"), "3 classes, but", "has 5")


def test_an_unknown_option(model: Path) -> None:
    fails(run_here("inspect", model, "--a", "layuot=NHWC"), "--a", "did you mean 'layout'")


def test_options_of_a_second_model_without_one(model: Path) -> None:
    fails(run_here("inspect", model, "--b", "layout=NHWC"), "--b is for a second model")


def test_data_is_shown_alone(model: Path) -> None:
    fails(run_here("inspect", "digits", model), "digits is data")


def test_python_models_on_the_command_line(tmp_path: Path, data: Path) -> None:
    code = "import numpy as np\ndef half(images): return np.full((len(images), 3), 1 / 3)\n"
    (tmp_path / "my_net.py").write_text(code)
    done = run("inspect", "py:my_net:half", "--data", data, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["models"][0]["classes"] == 3


def test_a_wrong_call_is_one_line_that_names_the_help() -> None:
    fails(run("inspct"), "--help")
    for wrong in (["inspect"], ["inspect", "digits", "--nope"], ["export", "x"]):
        fails(run_here(*wrong), "--help")


def test_an_unknown_export_form_lists_the_known(tmp_path: Path) -> None:
    fails(run_here("export", tmp_path, tmp_path / "out", "--to", "foo"), "foo", "npz", "parquet")


def test_a_closed_pipe_is_silent() -> None:
    command = f"set -o pipefail; {sys.executable} -m diffgan inspect digits --json | true"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""


@pytest.mark.parametrize(
    "output", ["print('x' * 200_000)", "print_table('x' * 50, ['y'], [['z' * 40]] * 9_000)", "print()"]
)
@pytest.mark.parametrize("code", [0, 1, 130])
def test_a_reader_that_goes_changes_no_exit_code(code: int, output: str) -> None:
    """A gate that is piped into head or grep -q still says what it came to."""
    program = (
        "import sys, time, typer\n"
        "from diffgan.cli import main\n"
        "from diffgan.cli.console import print_table\n"
        "@main.app.command('judge')\n"
        "def judge() -> None:\n"
        "    time.sleep(0.2)\n"
        f"    {output}\n"
        f"    raise typer.Exit({code})\n"
        "sys.argv = ['diffgan', 'judge']\n"
        "main.main()\n"
    )
    command = f"{sys.executable} -c {shlex.quote(program)} | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.returncode == code
    assert "Broken" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_output_that_cannot_be_written_is_one_line() -> None:
    command = f"{sys.executable} -m diffgan inspect digits > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    fails(done, "No space left")


def test_a_terminal_without_unicode_gets_other_characters() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "diffgan", "inspect", "digits"]
    for extra in ([], ["--json"]):
        done = subprocess.run([*command, *extra], capture_output=True, text=True, env=environment, timeout=60)
        assert (done.returncode, done.stderr) == (0, "")


def test_an_interrupt_ends_with_130_and_says_so(tmp_path: Path, data: Path) -> None:
    code = (
        "import sys, time, numpy as np\n"
        "def slow(images):\n"
        "    print('asked', file=sys.stderr, flush=True)\n"
        "    time.sleep(60)\n"
    )
    (tmp_path / "slow_net.py").write_text(code)
    command = [sys.executable, "-m", "diffgan", "inspect", "py:slow_net:slow", "--data", str(data)]
    with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "asked\n"
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=20) == 130
        assert running.stderr.read() == "diffgan: interrupted\n"


def test_what_a_model_prints_stays_out_of_the_result(tmp_path: Path, data: Path) -> None:
    code = (
        "import os\n"
        "print('hello')\n"
        "def net(images):\n"
        "    os.write(1, b'chatter')\n"
        "    return [[1, 0, 0]] * len(images)\n"
    )
    (tmp_path / "loud_net.py").write_text(code)
    done = run("inspect", "py:loud_net:net", "--data", data, "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["models"][0]["classes"] == 3
    assert "hello" in done.stderr


def test_a_model_that_exits_is_an_error(tmp_path: Path, data: Path) -> None:
    (tmp_path / "exit_net.py").write_text("raise SystemExit(5)")
    fails(run("inspect", "py:exit_net:x", "--data", data, cwd=tmp_path), "cannot be imported")


def test_names_from_files_cannot_steer_the_terminal(tmp_path: Path, model: Path) -> None:
    images = np.zeros((3, 4, 4), np.uint8)
    names = np.array(["cat\x1b[31m", "dog\nbird", "[bold]fish[/bold]"])
    np.savez(tmp_path / "odd.npz", images=images, labels=np.arange(3), classes=names)
    shown = run_here("inspect", tmp_path / "odd.npz").stdout
    assert "\x1b[31m" not in shown
    assert "[bold]fish" in shown.replace("\n", "")


def test_two_files_of_one_name_are_told_apart(tmp_path: Path, data: Path) -> None:
    paths = []
    for number, folder in enumerate(("old", "new")):
        (tmp_path / folder).mkdir()
        paths.append(write_dense(tmp_path / folder / "model.onnx", matrix=weights(seed=number)))
    content = json.loads(run_here("inspect", *paths, "--json").stdout)
    assert [entry["source"] for entry in content["models"]] == [str(path) for path in paths]
    fails(run_here("inspect", paths[0], paths[1], "--data", data, "--b", "classes=4"), "new/model.onnx", "4")


def test_class_names_in_the_datas_order(tmp_path: Path, model: Path) -> None:
    np.savez(
        tmp_path / "d.npz", images=np.zeros((3, 4, 4), np.uint8), labels=np.arange(3), classes=np.array(["x", "y", "z"])
    )
    for names in ("[z, y, x]", "[none, x, y]", "[x, z, other]"):
        fails(run_here("inspect", model, "--data", tmp_path / "d.npz", "--a", f"classes={names}"), "in another order")


def test_data_given_as_a_second_model_says_where_it_goes(model: Path, data: Path) -> None:
    fails(run_here("inspect", model, data), "give it as --data")


@pytest.mark.parametrize("arguments", [[""], ["digits", ""]])
def test_an_empty_text_is_no_target(arguments: list[str]) -> None:
    fails(run_here("inspect", *arguments), "empty")


def test_sampling_to_a_folder_that_is_not_there(testbed: Path, tmp_path: Path) -> None:
    generator = testbed / "generators" / "mnist_mlp64.pt"
    fails(run("gan", "sample", generator, "--count", "3", "--out", tmp_path / "no" / "x.npz"), "There is no folder")
    fails(run_here("gan", "sample", generator, "--count", "3", "--out", tmp_path / "x.jpg"), ".npz or .png")
    assert list(tmp_path.iterdir()) == []


def test_samples_are_written_with_their_latents(testbed: Path, tmp_path: Path) -> None:
    generator = testbed / "generators" / "mnist_conditional100.pt"
    for name, how in (("x.npz", run), ("x.png", run_here)):
        assert how("gan", "sample", generator, "--count", "7", "--out", tmp_path / name).returncode == 0
    with np.load(tmp_path / "x.npz", allow_pickle=False) as written:
        assert written["images"].shape == (7, 28, 28, 1)
        assert written["latents"].shape == (7, 100)
        assert written["labels"].shape == (7,)
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
