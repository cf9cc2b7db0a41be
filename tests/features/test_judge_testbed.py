"""The yardstick's published figures, on the very files of the test bed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
from numpy.typing import NDArray

from diffgan.features.judge import Judge
from diffgan.images import ByteImages, FloatImages, to_floats

Float32s = NDArray[np.float32]


class OnnxModel:
    """A file that onnxruntime opens, as the judge wants it."""

    def __init__(self, path: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 2
        self.name = path.stem
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self._input = self._session.get_inputs()[0].name

    def predict(self, images: FloatImages, output: str = "probabilities") -> Float32s:
        return np.asarray(self._session.run([output], {self._input: images})[0])

    def predict_with_features(self, images: FloatImages) -> tuple[Float32s, Float32s]:
        probabilities, features = self._session.run(["probabilities", "features"], {self._input: images})
        return np.asarray(probabilities), np.asarray(features)


@pytest.fixture(scope="module")
def real(testbed: Path) -> ByteImages:
    with np.load(testbed / "data" / "mnist_test.npz", allow_pickle=False) as data:
        return np.asarray(data["images"])


@pytest.fixture(scope="module")
def judge(testbed: Path, real: ByteImages) -> Judge:
    return Judge.calibrate([OnnxModel(testbed / "oracle" / f"mnist_oracle{place}.onnx") for place in range(3)], real)


def labels(path: Path, images: ByteImages) -> NDArray[np.int64]:
    model, floats = OnnxModel(path), to_floats(images)
    parts = [model.predict(floats[start : start + 500], "output") for start in range(0, len(floats), 500)]
    return np.asarray(np.concatenate(parts).argmax(axis=1), dtype=np.int64)


def test_the_thresholds_are_the_published_ones(judge: Judge) -> None:
    assert judge.pixel_distance is not None
    assert judge.feature_distance is not None
    assert round(judge.threshold, 3) == 0.812
    assert round(judge.pixel_distance, 4) == 0.1196
    assert round(judge.feature_distance, 4) == 0.0192


@pytest.mark.parametrize(("pair", "triggers", "valid", "dv"), [("12", 82, 8, 8), ("56", 268, 138, 135)])
def test_natural_triggers(
    testbed: Path, real: ByteImages, judge: Judge, *, pair: str, triggers: int, valid: int, dv: int
) -> None:
    first, second = (labels(testbed / "models" / f"mnist_m{number}.onnx", real) for number in pair)
    differ = first != second
    figures = judge.measure(real[differ], first[differ], second[differ]).yardstick
    assert (figures.triggers, figures.unique, figures.valid, figures.dv) == (triggers, triggers, valid, dv)
