"""What a source may be, sidecars, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diffgan.errors import DiffganError, ModelError, UsageError
from diffgan.images import ImageSpec
from diffgan.models import load_classifier
from tests.models.onnx_models import weights, write_dense


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_dense(tmp_path / "m.onnx", matrix=weights() * 9, softmax=False)


def sidecar(model: Path, text: str) -> None:
    Path(f"{model}.yaml").write_text(text)


def test_a_sidecar_is_read_and_options_override_it(model: Path) -> None:
    sidecar(model, "output: labels\nclasses: [a, b, c]\n")
    classifier = load_classifier(model, options={"output": "logits"})
    assert classifier.options.output == "logits"
    assert classifier.options.class_names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("latent: 100", ModelError, "is a generator"),
        ("- a list", ModelError, "expected KEY: VALUE"),
        ("{", ModelError, "cannot be read"),
        ("outptu: logits", UsageError, r"m\.onnx\.yaml: there is no option 'outptu'; did you mean 'output'"),
        ("mean: red", UsageError, r"m\.onnx\.yaml: 'red' for mean"),
    ],
)
def test_a_wrong_sidecar_says_what_is_wrong(model: Path, text: str, error: type[DiffganError], message: str) -> None:
    sidecar(model, text)
    with pytest.raises(error, match=message):
        load_classifier(model)


def test_an_empty_sidecar_is_none(model: Path) -> None:
    sidecar(model, "# nothing yet\n")
    assert load_classifier(model, options={"output": "logits"}).class_count == 3


def test_a_sidecar_cannot_run_code(model: Path, tmp_path: Path) -> None:
    sidecar(model, f"output: !!python/object/apply:os.mkdir ['{tmp_path / 'ran'}']")
    with pytest.raises(ModelError, match="cannot be read"):
        load_classifier(model)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda _: None, "There is no (file|model)"),
        (lambda path: path.mkdir(), "is a folder"),
        (lambda path: path.write_bytes(b""), "is empty"),
    ],
)
@pytest.mark.parametrize("ending", ["onnx", "pt", "pt2", "tflite", "keras", "h5", "xyz"])
def test_what_is_no_file_says_so(tmp_path: Path, ending: str, make: object, message: str) -> None:
    path = tmp_path / f"m.{ending}"
    make(path)  # type: ignore[operator]
    expected = "ending that no model format" if ending == "xyz" and path.is_file() else message
    with pytest.raises(ModelError, match=expected):
        load_classifier(path)


MODULE = """
import numpy as np

class Box:
    def answer(self, images):
        return np.full((len(images), 2), 0.5)

box = Box()
answer = box.answer
number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "my_models_of_the_test.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    return "py:my_models_of_the_test"


@pytest.mark.parametrize("attribute", ["answer", "box.answer"])
def test_python_is_found_in_the_current_folder(module: str, attribute: str) -> None:
    classifier = load_classifier(f"{module}:{attribute}", spec=ImageSpec(1, 4, 4))
    assert classifier.predict(np.zeros((5, 1, 4, 4), np.float32)).shape == (5, 2)
    assert len(classifier.fingerprint) == 32


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("py:my_models_of_the_test", "write py:module:attribute"),
        ("py::answer", "write py:module:attribute"),
        ("py:my_models_of_the_test:nope", "has no attribute nope"),
        ("py:my_models_of_the_test:number", "is a int, which cannot be called"),
        ("py:no_such_module_at_all:x", "cannot be imported"),
    ],
)
@pytest.mark.usefixtures("module")
def test_wrong_python_says_what_is_wrong(source: str, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        load_classifier(source)


def test_an_opened_model_passes_through(model: Path) -> None:
    classifier = load_classifier(model, options={"output": "logits"})
    assert load_classifier(classifier) is classifier
