"""The judge on models simple enough to follow by hand, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.errors import DataError, ModelError, UsageError
from diffgan.features.judge import Judge
from diffgan.images import ByteImages, FloatImages

Float32s = NDArray[np.float32]


@dataclass(frozen=True)
class Brightness:
    """Two classes: the first pixel's brightness is the probability of class 1. The features are the pixels."""

    name: str = "brightness"
    bias: float = 0.0
    classes: int = 2

    def predict(self, images: FloatImages) -> Float32s:
        bright = np.clip(images[:, 0, 0, 0] + np.float32(self.bias), 0, 1)
        rest = np.zeros((len(images), self.classes - 2), dtype=np.float32)
        return np.concatenate([1 - bright[:, None], bright[:, None], rest], axis=1)

    def predict_with_features(self, images: FloatImages) -> tuple[Float32s, Float32s]:
        return self.predict(images), images


@dataclass(frozen=True)
class WithoutFeatures:
    """A model with nothing but `predict`."""

    name: str = "plain"

    def predict(self, images: FloatImages) -> Float32s:
        return Brightness().predict(images)


@dataclass(frozen=True)
class Fixed:
    """A model that answers what it was told to."""

    answer: Any
    shown: Any
    name: str = "fixed"

    def predict(self, images: FloatImages) -> Any:
        return self.answer

    def predict_with_features(self, images: FloatImages) -> tuple[Any, Any]:
        return self.answer, self.shown


def images(*pixels: tuple[int, int]) -> ByteImages:
    """One-by-two images, N x 1 x 2 x 1."""
    return np.array(pixels, dtype=np.uint8).reshape(len(pixels), 1, 2, 1)


# The first pixels 0, 51, 102, 153, 255 are 0, 0.2, 0.4, 0.6, 1: confidences 1, 0.8, 0.6, 0.6, 1.
REAL = images((0, 255), (51, 255), (102, 255), (153, 255), (255, 0))


def test_golden_calibration() -> None:
    # Sorted confidences 0.6 0.6 0.8 1 1. Quantile 0.4 is at place 1.6: 0.6 + 0.6 · 0.2 = 0.72.
    # Angles of the five from (0, 255): 0°, 11.31°, 21.80°, 30.96°, 90°. Nearest neighbours: 11.31°, 10.49°, 9.16°,
    # 9.16°, 59.04°; the median is 10.49°: 1 - cos 10.49° = 0.01672. The features are the same pixels.
    judge = Judge.calibrate([Brightness()], REAL, quantile=0.4)
    assert judge.threshold == pytest.approx(0.72, abs=1e-6)
    assert judge.pixel_distance == pytest.approx(0.01672, abs=1e-5)
    assert judge.feature_distance == pytest.approx(0.01672, abs=1e-5)


def test_verdicts_are_of_the_mean_and_strictly_exceed() -> None:
    # Biases of +0.2 and -0.2 cancel out where nothing is clipped: at 102 (0.4) the mean is 0.4, so 0.6 for class 0.
    # At 0 they give 0.2 and 0: mean 0.1, 0.9 for class 0. At 255: 1 and 0.8, mean 0.9 for class 1.
    judge = Judge((Brightness("a", 0.2), Brightness("b", -0.2)), Judge.calibrate([Brightness()], REAL).spec, 0.75, 0, 0)
    said = judge.verdicts(images((102, 9), (0, 9), (255, 9)))
    np.testing.assert_allclose(said.confidence, [0.6, 0.9, 0.9], atol=1e-6)
    assert said.label.tolist() == [0, 0, 1]
    assert said.valid.tolist() == [False, True, True]
    assert said.features.shape == (3, 2)
    assert judge.name == "a+b"


def test_a_confidence_equal_to_the_threshold_is_not_valid() -> None:
    # The 0 quantile is the least confidence, which one of the real images has.
    judge = Judge.calibrate([Brightness()], images((51, 255), (0, 255), (255, 9)), quantile=0)
    assert judge.verdicts(images((51, 255), (50, 255), (52, 255))).valid.tolist() == [False, True, False]


def test_batches_change_nothing() -> None:
    many = np.random.default_rng(0).integers(0, 256, (50, 1, 2, 1), dtype=np.uint8)
    one, other = (Judge.calibrate([Brightness(), WithoutFeatures()], many, batch=size) for size in (50, 7))
    assert (one.threshold, one.feature_distance) == (other.threshold, other.feature_distance)
    np.testing.assert_array_equal(one.verdicts(many).confidence, other.verdicts(many).confidence)


def test_golden_measure() -> None:
    # Threshold 0.72. (0,255): valid, class 0. (128,255): confidence 0.502, not valid. (5,255): 1.1° from the first,
    # not distinct. (255,0): valid, class 1, distinct. (255,255): 45° from both, valid, class 1, distinct.
    judge = Judge.calibrate([Brightness()], REAL, quantile=0.4)
    triggers = images((0, 255), (128, 255), (5, 255), (255, 0), (255, 255))
    result = judge.measure(triggers, [0, 0, 0, 1, 0], [1, 1, 1, 0, 2])
    figures = result.yardstick
    assert result.counted.tolist() == [0, 3, 4]
    assert (figures.triggers, figures.valid, figures.dv, figures.cells) == (5, 4, 3, 3)
    assert figures.exactly_one_right == 2
    assert (
        judge.measure(triggers, [0, 0, 0, 1, 0], [1, 1, 1, 0, 2], verdicts=judge.verdicts(triggers)).yardstick
        == figures
    )


def test_distinct_triggers_are_far_apart_in_both_spaces() -> None:
    # Nothing here is farther apart than 90° (distance 1): a limit of 1 in either space leaves the first alone.
    judge = Judge.calibrate([Brightness()], REAL, quantile=0.4)
    triggers = images((0, 255), (255, 0), (255, 255))
    assert judge.measure(triggers, [0, 1, 0], [1, 0, 2]).yardstick.dv == 3
    for strict in (replace(judge, pixel_distance=1.0), replace(judge, feature_distance=1.0)):
        assert strict.measure(triggers, [0, 1, 0], [1, 0, 2]).yardstick.dv == 1


def test_without_features_the_pixels_decide_alone() -> None:
    judge = Judge.calibrate([WithoutFeatures()], REAL, quantile=0.4, features=False)
    assert judge.feature_distance is None
    assert judge.measure(images((0, 255), (255, 0), (0, 254)), [0, 1, 0], [1, 0, 1]).yardstick.dv == 2


def test_without_distances_the_verdicts_are_the_same_and_nothing_is_measured() -> None:
    judge = Judge.calibrate([WithoutFeatures()], REAL, quantile=0.4, distances=False)
    assert (judge.pixel_distance, judge.feature_distance) == (None, None)
    other = Judge.calibrate([Brightness()], REAL, quantile=0.4)
    assert judge.verdicts(REAL).valid.tolist() == other.verdicts(REAL).valid.tolist()
    with pytest.raises(UsageError, match="without distances"):
        judge.measure(REAL, [0] * 5, [1] * 5)


def test_nothing_to_judge_is_no_error() -> None:
    judge = Judge.calibrate([Brightness()], REAL)
    assert judge.verdicts(REAL[:0]).valid.tolist() == []
    assert judge.measure(REAL[:0], [], []).yardstick.dv == 0


@pytest.mark.parametrize("count", [0, 1])
def test_too_few_real_images_are_refused(count: int) -> None:
    with pytest.raises(DataError, match=f"at least 2 real images, but there are {count}"):
        Judge.calibrate([Brightness()], REAL[:count])


def test_no_model_is_refused() -> None:
    with pytest.raises(UsageError, match="at least one model"):
        Judge.calibrate([], REAL)


def test_a_first_model_without_features_is_refused() -> None:
    with pytest.raises(ModelError, match="plain, the judge's first model, has no features"):
        Judge.calibrate([WithoutFeatures(), Brightness()], REAL)


def test_models_of_different_classes_are_refused() -> None:
    with pytest.raises(ModelError, match="brightness has 2, wide has 3"):
        Judge.calibrate([Brightness(), Brightness("wide", classes=3)], REAL)


def test_a_judge_that_is_as_sure_of_everything_is_refused() -> None:
    with pytest.raises(ModelError, match="none would be valid"):
        Judge.calibrate([Brightness()], images((0, 255), (255, 0)))


@pytest.mark.parametrize(
    ("answer", "shown", "message"),
    [
        (np.ones((5,)), np.ones((5, 2)), r"answered with shape \(5,\); expected \(5, classes\)"),
        (np.ones((4, 2)), np.ones((5, 2)), r"answered with shape \(4, 2\)"),
        (np.full((5, 2), np.nan), np.ones((5, 2)), "NaN"),
        (np.ones((5, 2)), np.ones((5,)), r"features of shape \(5,\)"),
        (np.ones((5, 2)), np.full((5, 2), np.inf), "features that are NaN"),
    ],
)
def test_a_model_that_answers_wrongly_is_named(answer: object, shown: object, message: str) -> None:
    with pytest.raises(ModelError, match=f"fixed .*{message}"):
        Judge.calibrate([Fixed(answer, shown)], REAL)


def test_images_that_do_not_fit_are_refused() -> None:
    judge = Judge.calibrate([Brightness()], REAL)
    with pytest.raises(DataError, match="1×1×2, not 1×2×1"):
        judge.verdicts(REAL.transpose(0, 2, 1, 3))
    with pytest.raises(DataError, match="float64; expected uint8"):
        judge.verdicts(REAL / 255)  # type: ignore[arg-type]  # a user's mistake
    with pytest.raises(DataError, match=r"label_b \(4,\)"):
        judge.measure(REAL, [0] * 5, [1] * 4)
    with pytest.raises(DataError, match="labels of model A are of type float64"):
        judge.measure(REAL, [0.5] * 5, [1] * 5)
