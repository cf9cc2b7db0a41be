"""TensorFlow Lite models: answers, types, batches, and errors in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.errors import MissingExtraError, ModelError
from diffgan.models import tflite
from diffgan.models.options import ModelOptions
from diffgan.models.tflite import TfliteRuntime, adapter

Build = Callable[..., str]


def _load(source: str, **options: Any) -> TfliteRuntime:
    return adapter.load(source, ModelOptions(**options))


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Writes a graph that flattens 2x2x1 images: `build(dtype=..., scale=..., target=..., custom=...)`."""
    schema: Any = pytest.importorskip("ai_edge_litert.schema_py_generated", reason="the extra tflite is not installed")
    flatbuffers: Any = pytest.importorskip("flatbuffers")
    types = {"float32": schema.TensorType.FLOAT32, "int8": schema.TensorType.INT8, "uint8": schema.TensorType.UINT8}

    def tensor(name: str, shape: list[int], kind: int, quantisation: tuple[float, int] | None, buffer: int = 0) -> Any:
        made = schema.TensorT()
        made.name, made.shape, made.type, made.buffer = name.encode(), shape, kind, buffer
        if quantisation:
            made.quantization = schema.QuantizationParametersT()
            made.quantization.scale, made.quantization.zeroPoint = [quantisation[0]], [quantisation[1]]
        return made

    def write(
        *,
        dtype: str = "float32",
        scale: tuple[float, int] | None = None,
        target: tuple[int, int] = (-1, 4),
        custom: str | None = None,
    ) -> str:
        model, graph, step, code = schema.ModelT(), schema.SubGraphT(), schema.OperatorT(), schema.OperatorCodeT()
        code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.RESHAPE
        code.version = 1
        if custom:
            code.builtinCode = code.deprecatedBuiltinCode = schema.BuiltinOperator.CUSTOM
            code.customCode = custom.encode()
        step.opcodeIndex, step.inputs, step.outputs = 0, [0, 1], [2]
        graph.tensors = [
            tensor("image", [1, 2, 2, 1], types[dtype], scale),
            tensor("shape", [2], schema.TensorType.INT32, None, buffer=1),
            tensor("flat", [1, 4], types[dtype], scale),
        ]
        graph.inputs, graph.outputs, graph.operators = [0], [2], [step]
        empty, values = schema.BufferT(), schema.BufferT()
        values.data = np.frombuffer(np.array(target, dtype="<i4").tobytes(), dtype=np.uint8)
        model.version, model.operatorCodes, model.subgraphs, model.buffers = 3, [code], [graph], [empty, values]
        builder = flatbuffers.Builder(1024)
        builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
        path = tmp_path / "model.tflite"
        path.write_bytes(bytes(builder.Output()))
        return str(path)

    return write


@pytest.fixture(scope="module")
def digits(testbed: Path) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """MNIST's test images as the model wants them, and their labels."""
    with np.load(testbed / "data" / "mnist_test.npz", allow_pickle=False) as data:
        return data["images"].astype(np.float32) / 255, data["labels"]


@pytest.fixture(scope="module")
def lenet(testbed: Path) -> str:
    pytest.importorskip("ai_edge_litert", reason="the extra tflite is not installed")
    return str(testbed / "models" / "mnist_lenet5_int8.tflite")


def test_accepts_by_ending_only() -> None:
    assert adapter.accepts("nowhere/model.TFLITE")
    assert not adapter.accepts("model.tflite.onnx")


def test_golden_accuracy_and_disagreements(
    testbed: Path, lenet: str, digits: tuple[NDArray[np.float32], NDArray[np.int64]]
) -> None:
    import torch

    images, labels = digits
    quantised = _load(lenet).run(images)[0].argmax(axis=1)
    original = torch.jit.load(str(testbed / "models" / "mnist_lenet5.pt"), map_location="cpu").eval()  # type: ignore[no-untyped-call]
    with torch.inference_mode():
        floats = original(torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2)))).argmax(dim=1).numpy()
    assert (quantised == labels).mean() == pytest.approx(0.9796)
    assert (quantised != floats).sum() == 21


def test_images_are_answered_as_if_each_came_alone(
    lenet: str, digits: tuple[NDArray[np.float32], NDArray[np.int64]]
) -> None:
    images = digits[0][:33]
    runtime = _load(lenet)
    together = runtime.run(images)[0]
    alone = np.concatenate([runtime.run(images[index : index + 1])[0] for index in range(33)])
    assert runtime.batch is None
    assert runtime.input_shape == (None, 28, 28, 1)
    assert runtime.layout == "NHWC"
    np.testing.assert_array_equal(together, alone)


def test_a_wished_batch_is_stated_and_answers_alike(
    lenet: str, digits: tuple[NDArray[np.float32], NDArray[np.int64]]
) -> None:
    images = digits[0][:64]
    resized = _load(lenet, batch=32)
    assert resized.batch == 32
    assert resized.input_shape == (32, 28, 28, 1)
    np.testing.assert_array_equal(resized.run(images)[0].argmax(axis=1), _load(lenet).run(images)[0].argmax(axis=1))


def test_answers_do_not_change_with_later_images(build: Build) -> None:
    runtime = _load(build())
    first = runtime.run(np.full((1, 2, 2, 1), 0.25, dtype=np.float32))[0]
    runtime.run(np.ones((1, 2, 2, 1), dtype=np.float32))
    np.testing.assert_array_equal(first, np.full((1, 4), 0.25, dtype=np.float32))


def test_a_second_output_is_features(build: Build) -> None:
    answers, features = _load(build(), features_name="flat").run(np.ones((3, 2, 2, 1), np.float32), features=True)
    assert answers.shape == (3, 4)
    assert features is not None
    np.testing.assert_array_equal(answers, features)


@pytest.mark.parametrize(("dtype", "zero_point"), [("uint8", 0), ("int8", -128), ("int8", -5)])
def test_quantised_values_are_rounded_and_clipped(build: Build, dtype: str, zero_point: int) -> None:
    scale = 1 / 256
    runtime = _load(build(dtype=dtype, scale=(scale, zero_point)))
    given = np.array([0.0, 0.25, 0.5 + 0.4 * scale, 1.0], dtype=np.float32).reshape(1, 2, 2, 1)
    largest = (np.iinfo(dtype).max - zero_point) * scale
    expected = np.minimum([[0.0, 0.25, 0.5, 1.0]], largest)
    np.testing.assert_allclose(runtime.run(given)[0], expected, atol=1e-7)


def test_bytes_without_a_scale_stay_bytes(build: Build) -> None:
    given = np.array([0.0, 0.4, 254.6, 300.0], dtype=np.float32).reshape(1, 2, 2, 1)
    assert _load(build(dtype="uint8"), range=(0, 255)).run(given)[0].tolist() == [[0, 0, 255, 255]]


@pytest.mark.parametrize(
    ("scale", "options", "message"),
    [
        (None, {}, r"for -128 to 127, but is given 0 to 1, .* leaves 2 tones: say range=\[-128, 127\]"),
        (
            None,
            {"range": (0, 255)},
            r"but is given 0 to 255, most of which lies beyond: say range=\[-128, 127\]",
        ),
        ((1.0, -128), {}, r"leaves 2 tones: say range=\[0, 255\]"),
        ((1 / 256, -128), {"range": (0, 0.02)}, r"leaves 6 tones: say range=\[0, 0\.9961\]"),
        ((1 / 256, -128), {"range": (0, 255)}, r"most of which lies beyond: say range=\[0, 0\.9961\]"),
        (None, {"std": (0.5,)}, r"but is given 0 to 2 after mean and std, .*\] without mean and std"),
    ],
)
def test_whole_numbers_that_would_hardly_show_anything_are_refused(
    build: Build, scale: tuple[float, int] | None, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ModelError, match=message):
        _load(build(dtype="int8", scale=scale), **options)


def test_a_graph_of_fixed_size_refuses_another_batch(build: Build) -> None:
    with pytest.raises(ModelError, match=r"1 image\(s\) at a time, and refuses batch=8.*leave out batch"):
        _load(build(target=(1, 4)), batch=8)


def test_a_graph_that_mixes_its_images_refuses_another_batch(build: Build) -> None:
    with pytest.raises(ModelError, match=r"answers 8 images with shape \(1, 32\): leave out batch"):
        _load(build(target=(1, -1)), batch=8)


@pytest.mark.parametrize("custom", ["FlexErf", "MyOwnOperation"])
def test_operations_from_elsewhere_are_refused(build: Build, custom: str) -> None:
    with pytest.raises(ModelError, match=rf"operations that are not built into LiteRT.*{custom}.*TFLITE_BUILTINS"):
        _load(build(custom=custom))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"input_name": "x"}, r"no input 'x' \(input_name\); it has: image"),
        ({"output_name": "y"}, r"no output 'y' \(output_name\); it has: flat"),
        ({"features_name": "z"}, r"no features 'z' \(features_name\); it has: flat"),
    ],
)
def test_unknown_names_list_the_known(build: Build, options: dict[str, str], message: str) -> None:
    with pytest.raises(ModelError, match=message):
        _load(build(), **options)


@pytest.mark.parametrize("share", [0.01, 0.3, 0.7, 0.99])
def test_a_file_cut_short_is_one_clear_line(build: Build, tmp_path: Path, share: float) -> None:
    whole = Path(build()).read_bytes()
    cut = tmp_path / "cut.tflite"
    cut.write_bytes(whole[: int(len(whole) * share)])
    with pytest.raises(ModelError, match=r"cut\.tflite is no TensorFlow Lite model.*is it complete"):
        _load(str(cut))


def test_missing_empty_and_foreign_files(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="the extra tflite is not installed")
    (tmp_path / "empty.tflite").touch()
    (tmp_path / "foreign.tflite").write_bytes(b"PK\x03\x04 this is something else altogether" * 9)
    for name, message in [
        ("none.tflite", "There is no file"),
        ("empty.tflite", "is empty"),
        ("foreign.tflite", "is no TensorFlow Lite model"),
    ]:
        with pytest.raises(ModelError, match=message) as caught:
            _load(str(tmp_path / name))
        assert "\n" not in str(caught.value)


def test_without_the_extra_its_name_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ai_edge_litert", None)
    monkeypatch.setitem(sys.modules, "ai_edge_litert.interpreter", None)
    with pytest.raises(MissingExtraError, match=r"diffgan\[tflite\]"):
        _load(str(tmp_path / "any.tflite"))


_OPEN = """
import sys
from diffgan.models.options import ModelOptions
from diffgan.models.tflite import adapter
adapter.load(sys.argv[1], ModelOptions())
print("still heard", file=sys.stderr)
"""


def test_opening_a_model_writes_nothing_to_stderr(build: Build) -> None:
    done = subprocess.run([sys.executable, "-c", _OPEN, build()], capture_output=True, text=True, check=True)
    assert done.stderr == "still heard\n"


class _Faulty:
    """LiteRT as seen from here: writes to file descriptor 2, and may fail."""

    lines = b"INFO: chatter\nERROR: the tensor is askew\n"

    def __init__(self, **_: object) -> None:
        os.write(2, self.lines)
        raise ValueError("it failed")


def test_what_was_written_before_a_failure_is_in_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.tflite"
    path.write_bytes(b"anything")
    monkeypatch.setattr(tflite, "_interpreter_class", lambda: _Faulty)
    with pytest.raises(ModelError, match=r"it failed ERROR: the tensor is askew") as caught:
        _load(str(path))
    assert "chatter" not in str(caught.value)
    os.write(2, b"restored\n")
    assert capfd.readouterr().err == "restored\n"


def test_warnings_of_a_model_that_opens_are_passed_on(capfd: pytest.CaptureFixture[str]) -> None:
    with tflite._heard(tflite.Said()):
        os.write(2, b"INFO: chatter\nWARNING: slow\n")
    assert capfd.readouterr().err == "WARNING: slow\n"
