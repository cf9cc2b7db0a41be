"""Every model of the test bed gives the figures of its README, exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffgan.datasets import load_dataset
from diffgan.models import load_classifier
from diffgan.models.evaluation import PairOnData, compare_labels, predict_labels


def pair_on(testbed: Path, data: str, a: str, b: str) -> PairOnData:
    dataset = load_dataset(testbed / "data" / data)
    labels = [
        predict_labels(load_classifier(testbed / "models" / name, spec=dataset.spec), dataset.images) for name in (a, b)
    ]
    return compare_labels(labels[0], labels[1], dataset.labels)


@pytest.mark.parametrize(
    ("data", "a", "b", "accuracy_a", "accuracy_b", "disagreements"),
    [
        ("mnist_test.npz", "mnist_m1.onnx", "mnist_m2.onnx", 0.9925, 0.9950, 82),
        ("mnist_test.npz", "mnist_m5.onnx", "mnist_m6.onnx", 0.9704, 0.9893, 268),
        ("mnist_test.npz", "mnist_lenet5_v1.pt", "mnist_lenet5_v2.pt", 0.8587, 0.9783, 1371),
        ("mnist_test.npz", "mnist_lenet5.pt", "mnist_lenet5_int8.tflite", 0.9807, 0.9796, 21),
        ("cifar10_test.npz", "cifar10_resnet20.onnx", "cifar10_resnet32.onnx", 0.9173, 0.9263, 858),
    ],
)
def test_accuracy_and_disagreements(
    testbed: Path, data: str, a: str, b: str, accuracy_a: float, accuracy_b: float, disagreements: int
) -> None:
    pair = pair_on(testbed, data, a, b)
    assert (pair.accuracy_a, pair.accuracy_b, pair.disagreements) == (accuracy_a, accuracy_b, disagreements)
    if a.endswith("v1.pt"):
        assert pair.only_a == 55
    assert pair.both_right + pair.only_a + pair.only_b + pair.both_wrong == pair.images == 10_000
