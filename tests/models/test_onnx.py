"""ONNX models: answers, names, fixed batches, threads, and what is refused."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from onnx import TensorProto

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.images import ImageSpec
from diffgan.models import load_classifier
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
