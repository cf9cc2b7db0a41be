"""ONNX models: answers, names, fixed batches, threads, and what is refused."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.images import ImageSpec
from diffgan.models import load_classifier
from diffgan.models import onnx as onnx_module
from diffgan.models.onnx import adapter
from diffgan.models.options import ModelOptions
from diffgan.testing import ClassifierConformance
from tests.models.onnx_models import softmax, weights, write_dense, write_external


class Dense(ClassifierConformance):
    @pytest.fixture
    def spec(self) -> ImageSpec:
        return ImageSpec(1, 4, 4)


class TestOnnxConformance(Dense):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        return write_dense(tmp_path / "m.onnx", matrix=weights())


class TestFixedBatchConformance(Dense):
    @pytest.fixture
    def source(self, tmp_path: Path) -> Path:
        return write_dense(tmp_path / "m.onnx", matrix=weights(), batch=4)


def test_it_answers_what_the_matrix_says(tmp_path: Path, images: np.ndarray) -> None:
    classifier = load_classifier(write_dense(tmp_path / "m.onnx", matrix=weights()))
    assert np.allclose(classifier.predict(images), softmax(images.reshape(9, -1) @ weights()), atol=1e-6)


def test_outputs_and_features_by_name(tmp_path: Path, images: np.ndarray) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights())
    options = {"output_name": "logits", "output": "logits", "features_name": "flat"}
    answers, features = load_classifier(path, options=options).predict_with_features(images)
    assert np.allclose(answers, softmax(images.reshape(9, -1) @ weights()), atol=1e-6)
    assert np.array_equal(features, images.reshape(9, -1))


@pytest.mark.parametrize("key", ["input_name", "output_name", "features_name"])
def test_an_unknown_name_lists_the_known(tmp_path: Path, key: str) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights())
    with pytest.raises(ModelError, match=rf"{key}\); it has: (image|probabilities, logits, flat)"):
        load_classifier(path, options={key: "nope"})


def test_logits_taken_for_probabilities_say_the_option(tmp_path: Path) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights() * 9, softmax=False)
    with pytest.raises(ModelError, match="say output: logits"):
        load_classifier(path)


def test_bytes_in_are_rounded(tmp_path: Path) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights() / 255, dtype=TensorProto.UINT8)
    classifier = load_classifier(path, options={"range": [0, 255]})
    pixels = np.random.default_rng(0).integers(0, 256, size=(2, 1, 4, 4))
    answers = classifier.predict((pixels / 255).astype(np.float32))
    assert np.allclose(answers, softmax(pixels.reshape(2, -1) @ (weights() / 255)), atol=1e-5)


def test_a_range_of_which_rounding_leaves_black_and_white_is_refused(tmp_path: Path) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights() / 255, dtype=TensorProto.UINT8)
    with pytest.raises(ModelError, match=r"whole numbers \(uint8\).*leaves 3 tones: say range=\[0, 255\] without mean"):
        load_classifier(path, options={"mean": [0.5], "std": [0.25]})
    with pytest.raises(ModelError, match=r"whole numbers \(uint8\).*leaves 2 tones: say range=\[0, 255\]"):
        load_classifier(path)


def test_colour_data_does_not_fit_a_grey_model(tmp_path: Path) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights())
    with pytest.raises(ModelError, match="takes images of 1×4×4, but was given 3×4×4"):
        load_classifier(path, spec=ImageSpec(3, 4, 4))


@pytest.mark.parametrize("keep", [0, 1, 20, 0.5, 0.99])
def test_a_truncated_file_is_one_clear_line(tmp_path: Path, keep: float) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights())
    content = path.read_bytes()
    path.write_bytes(content[: int(keep if keep >= 1 or keep == 0 else keep * len(content))])
    with pytest.raises(ModelError, match=r"m\.onnx") as caught:
        load_classifier(path, spec=ImageSpec(1, 4, 4))
    assert "\n" not in str(caught.value)


def test_another_file_with_this_ending_is_one_clear_line(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + b"picture" * 50)
    with pytest.raises(ModelError, match="ONNX"):
        load_classifier(path)


def test_external_data_beside_the_model_is_read_and_fingerprinted(tmp_path: Path, images: np.ndarray) -> None:
    path = write_external(tmp_path / "m.onnx", matrix=weights(), location="m.data")
    classifier = load_classifier(path)
    assert np.allclose(classifier.predict(images), softmax(images.reshape(9, -1) @ weights()), atol=1e-6)
    (tmp_path / "m.data").write_bytes(weights(seed=1).tobytes())
    assert load_classifier(path).fingerprint != classifier.fingerprint


@pytest.mark.parametrize("location", ["../m.data", "sub/../../m.data", "ABSOLUTE"])
def test_external_data_outside_the_folder_is_refused(tmp_path: Path, location: str) -> None:
    inner = tmp_path / "inner"
    (inner / "sub").mkdir(parents=True)
    (tmp_path / "m.data").write_bytes(weights().tobytes())
    written = str(tmp_path / "m.data") if location == "ABSOLUTE" else location
    path = write_external(inner / "m.onnx", matrix=weights(), location=written)
    with pytest.raises(UnsafeFileError, match="outside its own folder"):
        load_classifier(path)


def test_external_data_behind_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    path = write_external(inner / "m.onnx", matrix=weights(), location="m.data")
    (inner / "m.data").replace(tmp_path / "m.data")
    (inner / "m.data").symlink_to(tmp_path / "m.data")
    with pytest.raises(UnsafeFileError, match="outside its own folder"):
        load_classifier(path)


def varint(number: int) -> bytes:
    content = b""
    while number >= 0x80:
        content += bytes([number & 0x7F | 0x80])
        number >>= 7
    return content + bytes([number])


def with_tag(model: bytes, tag: bytes) -> bytes:
    """The model with another spelling of the tag of its only external location (field 13 of a tensor)."""
    proto = onnx.ModelProto.FromString(model)
    [tensor] = [found for found in proto.graph.initializer if found.external_data]
    [entry] = [found.SerializeToString() for found in tensor.external_data if found.key == "location"]
    del tensor.external_data[:]
    field = tag + varint(len(entry)) + entry
    swapped = tensor.SerializeToString() + field
    proto.graph.initializer.remove(tensor)
    graph = proto.graph.SerializeToString() + b"\x2a" + varint(len(swapped)) + swapped
    proto.ClearField("graph")
    return bytes(proto.SerializeToString() + b"\x3a" + varint(len(graph)) + graph)


@pytest.mark.parametrize(
    ("tag", "message"),
    [
        (b"\x6a", "outside its own folder"),
        (b"\xea\x00", "outside its own folder"),
        (b"\xea\x80\x80\x80\x00", "outside its own folder"),
        (varint(13 << 3 | 2 | 1 << 32), "no complete ONNX model"),
        (varint(13 << 3 | 2 | 1 << 34), "no complete ONNX model"),
        (b"\xea\x80\x80\x80\x80\x00", "no complete ONNX model"),
        (b"\xea\x80\x80\x80\x80\x80\x80\x80\x80\x01", "no complete ONNX model"),
    ],
)
def test_a_location_under_an_overlong_tag_is_refused(tmp_path: Path, tag: bytes, message: str) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / "m.data").write_bytes(weights().tobytes())
    path = write_external(tmp_path / "inner" / "m.onnx", matrix=weights(), location="../m.data")
    path.write_bytes(with_tag(path.read_bytes(), tag))
    with pytest.raises(ModelError, match=message) as caught:
        load_classifier(path)
    assert "\n" not in str(caught.value)


def test_the_overlong_tag_of_these_tests_would_be_read(tmp_path: Path) -> None:
    """Protobuf drops the upper bits: without this, the test above would prove nothing."""
    path = write_external(tmp_path / "m.onnx", matrix=weights(), location="m.data")
    hidden = with_tag(path.read_bytes(), varint(13 << 3 | 2 | 1 << 32))
    session = onnxruntime.InferenceSession(_written(tmp_path / "hidden.onnx", hidden))
    answers = session.run(None, {session.get_inputs()[0].name: np.ones((1, 1, 4, 4), np.float32)})[0]
    assert np.allclose(answers, softmax(np.ones((1, 16)) @ weights()), atol=1e-6)


def _written(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    return str(path)


def test_a_location_with_a_zero_byte_is_refused(tmp_path: Path) -> None:
    path = write_external(tmp_path / "m.onnx", matrix=weights(), location="m.data")
    path.write_bytes(path.read_bytes().replace(b"m.data", b"m.dat\0"))
    with pytest.raises(UnsafeFileError, match="no file name"):
        load_classifier(path)


def test_missing_external_data_is_named(tmp_path: Path) -> None:
    path = write_external(tmp_path / "m.onnx", matrix=weights(), location="m.data")
    (tmp_path / "m.data").unlink()
    with pytest.raises(ModelError, match=r"weights in 'm\.data'"):
        load_classifier(path)


def test_the_fingerprint_is_of_the_file_and_of_what_changes_its_answers(tmp_path: Path) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights())
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(path.read_bytes())
    plain = load_classifier(path)
    assert load_classifier(copy).fingerprint == plain.fingerprint
    assert load_classifier(path, options={"threads": 1}).fingerprint == plain.fingerprint
    assert load_classifier(path, options={"range": [0, 255]}).fingerprint != plain.fingerprint
    other = write_dense(tmp_path / "other.onnx", matrix=weights(seed=1))
    assert load_classifier(other).fingerprint != plain.fingerprint


def test_one_thread_is_one_core(testbed: Path) -> None:
    classifier = load_classifier(testbed / "models" / "mnist_m1.onnx", options={"threads": 1})
    images = np.random.default_rng(0).random((256, 1, 28, 28), dtype=np.float32)
    classifier.predict(images)
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(10):
        classifier.predict(images)
    used = (time.process_time() - cpu) / (time.perf_counter() - wall)
    assert used < 1.3


@pytest.mark.parametrize("count", [1, 3, 5, 128, 129, 700])
def test_parts_of_a_batch_are_answered_as_the_whole(tmp_path: Path, count: int) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights())
    classifier = load_classifier(path, options={"features_name": "flat", "threads": 2})
    images = np.random.default_rng(0).random((count, 1, 4, 4), dtype=np.float32)
    answers, features = classifier.predict_with_features(images)
    assert np.allclose(answers, softmax(images.reshape(count, -1) @ weights()), atol=1e-6)
    assert np.array_equal(features, images.reshape(count, -1))


def test_an_answer_for_the_whole_batch_is_none_for_each_part(tmp_path: Path) -> None:
    path = write_dense(tmp_path / "m.onnx", matrix=weights())
    model = onnx.load(path)
    rows = next(node for node in model.graph.node if "probabilities" in node.output)
    rows.output[0] = "each"
    model.graph.node.append(helper.make_node("ReduceMean", ["each"], ["probabilities"], axes=[0], keepdims=1))
    onnx.save(model, path)
    images = np.random.default_rng(0).random((8, 1, 4, 4), dtype=np.float32)
    assert adapter.load(str(path), ModelOptions(threads=2)).run(images)[0].shape == (1, 3)
    with pytest.raises(ModelError, match="takes one image at a time only"):
        load_classifier(path)


@pytest.mark.parametrize("batch", ["n", 4])
@pytest.mark.parametrize("count", [1, 200])
def test_a_closed_model_says_so(tmp_path: Path, batch: object, count: int) -> None:
    classifier = load_classifier(write_dense(tmp_path / "m.onnx", matrix=weights(), batch=batch))
    classifier.close()
    with pytest.raises(ModelError, match="was closed: load it again"):
        classifier.predict(np.zeros((count, 1, 4, 4), dtype=np.float32))


class Listening:
    """A session that tells how many cores it has, how many images it was shown, and whether in a thread of a pool."""

    def __init__(self, session: Any, cores: int | None, asked: list[tuple[int | None, int, bool]]) -> None:
        self.get_inputs, self.get_outputs = session.get_inputs, session.get_outputs
        self._session, self._cores, self._asked = session, cores, asked

    def run(self, wanted: list[str], feed: dict[str, np.ndarray]) -> Any:
        pooled = threading.current_thread() is not threading.main_thread()
        self._asked.append((self._cores, len(feed["image"]), pooled))
        return self._session.run(wanted, feed)


def test_each_core_answers_a_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int | None, int, bool]] = []
    opened = onnx_module.open_session

    def listening(path: Path, options: ModelOptions, *, cores: int | None = None) -> Listening:
        return Listening(opened(path, options, cores=cores), cores, asked)

    monkeypatch.setattr(onnx_module, "open_session", listening)
    images = np.zeros((300, 1, 4, 4), dtype=np.float32)
    for batch in ("n", 4):
        path = write_dense(tmp_path / f"{batch}.onnx", matrix=weights(), batch=batch)
        adapter.load(str(path), ModelOptions(threads=3)).run(images[:4] if batch == 4 else images)
    assert sorted(asked, key=str) == [(1, 100, True)] * 3 + [(3, 4, False)]
