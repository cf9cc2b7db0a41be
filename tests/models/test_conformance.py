"""Our own adapters pass the tests that we ask of others: the formats whose tests do not do so beside their own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from diffgan.images import ImageSpec
from diffgan.testing import ClassifierConformance


class TestKerasConformance(ClassifierConformance):
    @pytest.fixture(params=["keras", "h5"])
    def source(self, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
        os.environ.setdefault("KERAS_BACKEND", "torch")
        keras = pytest.importorskip("keras", reason="needs the extra keras")
        layers = [keras.layers.Input((8, 8, 3)), keras.layers.Conv2D(4, 3), keras.layers.Flatten()]
        model = keras.Sequential([*layers, keras.layers.Dense(5, activation="softmax")])
        path = tmp_path / f"model.{request.param}"
        model.save(path)
        return path

    @pytest.fixture
    def spec(self) -> ImageSpec:
        return ImageSpec(3, 8, 8)


class TestTfliteConformance(ClassifierConformance):
    @pytest.fixture
    def source(self, testbed: Path) -> Path:
        pytest.importorskip("ai_edge_litert", reason="needs the extra tflite")
        return testbed / "models" / "mnist_lenet5_int8.tflite"

    @pytest.fixture
    def spec(self) -> ImageSpec:
        return ImageSpec(1, 28, 28)


class TestBatchedTfliteConformance(TestTfliteConformance):
    @pytest.fixture
    def options(self) -> dict[str, object]:
        return {"batch": 16}


class TestLabelsOnlyConformance(ClassifierConformance):
    @pytest.fixture
    def source(self) -> object:
        return lambda images: (images.mean(axis=(1, 2, 3)) > 0.5).astype(int)

    @pytest.fixture
    def spec(self) -> ImageSpec:
        return ImageSpec(1, 8, 8)

    @pytest.fixture
    def options(self) -> dict[str, object]:
        return {"output": "labels", "classes": ["dark", "bright"]}
