"""What the wrapper owns: layout, range, normalisation, outputs, batches, counting, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from diffgan.errors import ModelError, UsageError
from diffgan.images import ImageSpec
from diffgan.models import Classifier, ModelOptions, load_classifier
from diffgan.models.options import parse_assignments


class Recorder:
    """A model that keeps what it was shown, and answers what it was told."""

    def __init__(self, answer: Any = None) -> None:
        self.seen: list[np.ndarray] = []
        self.answer = answer

    def __call__(self, inputs: np.ndarray) -> Any:
        self.seen.append(inputs.copy())
        if callable(self.answer):
            return self.answer(inputs)
        return np.full((len(inputs), 4), 0.25) if self.answer is None else self.answer


def test_the_plain_case_shows_the_images_as_they_are(images: np.ndarray) -> None:
    recorder = Recorder()
    answers = load_classifier(recorder).predict(images)
    assert np.array_equal(recorder.seen[0], images)
    assert answers.dtype == np.float32


def test_a_model_that_writes_into_its_input_spoils_nothing_for_the_other(images: np.ndarray) -> None:
    def rude(inputs: np.ndarray) -> np.ndarray:
        inputs -= 0.5
        return np.full((len(inputs), 4), 0.25)

    before = images.copy()
    load_classifier(rude).predict(images)
    assert np.array_equal(images, before)


def test_range_mean_std_and_layout_in_that_order(images: np.ndarray) -> None:
    recorder = Recorder()
    options = {"layout": "NHWC", "range": [-1, 1], "mean": [0.5], "std": [0.25]}
    load_classifier(recorder, options=options).predict(images)
    expected = (((images * 2 - 1) - 0.5) / 0.25).transpose(0, 2, 3, 1)
    assert np.allclose(recorder.seen[0], expected, atol=1e-6)


def test_mean_and_std_are_per_channel() -> None:
    recorder = Recorder()
    colour = np.ones((1, 3, 2, 2), dtype=np.float32)
    load_classifier(recorder, options={"mean": [0, 0.5, 1], "std": [1, 0.5, 2]}).predict(colour)
    assert recorder.seen[0][0, :, 0, 0].tolist() == [1, 1, 0]


def test_a_fixed_batch_is_kept_by_padding_which_is_not_counted(images: np.ndarray) -> None:
    recorder = Recorder(lambda inputs: np.eye(4)[(inputs[:, 0, 0, 0] * 4).astype(int)])
    classifier = load_classifier(recorder, options={"batch": 4})
    answers = classifier.predict(images)
    assert [len(batch) for batch in recorder.seen] == [4, 4, 4]
    assert np.array_equal(answers, np.eye(4)[(images[:, 0, 0, 0] * 4).astype(int)].astype(np.float32))
    assert classifier.queries == 9


def test_a_large_call_is_cut_into_pieces() -> None:
    recorder = Recorder()
    load_classifier(recorder).predict(np.zeros((2500, 1, 2, 2), np.float32))
    assert [len(batch) for batch in recorder.seen] == [1024, 1024, 452]


def test_the_pieces_of_a_call_share_its_time() -> None:
    left: list[float | None] = []

    class Remote:
        layout = "NCHW"
        input_shape = None
        batch = None

        def run(
            self, inputs: np.ndarray, *, features: bool = False, timeout: float | None = None
        ) -> tuple[np.ndarray, None]:
            left.append(timeout)
            return np.full((len(inputs), 4), 0.25), None

        def close(self) -> None: ...

    classifier = Classifier(Remote(), ModelOptions(), name="remote", source="https://example.org")  # type: ignore[arg-type]
    classifier.predict(np.zeros((3000, 1, 2, 2), np.float32), timeout=5.0)
    assert len(left) == 3
    assert 5.0 >= left[0] > left[1] > left[2] > 0  # type: ignore[operator]


def test_logits_become_probabilities_without_overflow(images: np.ndarray) -> None:
    logits = np.array([[1000.0, 1000.0, -1000.0]] * 9)
    answers = load_classifier(Recorder(logits), options={"output": "logits"}).predict(images)
    assert answers[0].tolist() == [0.5, 0.5, 0.0]


def test_one_column_is_the_second_of_two_classes(images: np.ndarray) -> None:
    answers = load_classifier(Recorder(np.full((9, 1), 0.75))).predict(images)
    assert answers[0].tolist() == [0.25, 0.75]
    logit = load_classifier(Recorder(np.full(9, np.log(3.0))), options={"output": "logits"}).predict(images)
    assert np.allclose(logit[0], [0.25, 0.75])


@pytest.mark.parametrize(
    ("answer", "options", "expected"),
    [
        (np.array([0.25, 0.75]), {}, [0.25, 0.75]),
        (np.array(0.75), {}, [0.25, 0.75]),
        (np.array(2), {"output": "labels", "classes": 3}, [0, 0, 1]),
    ],
)
def test_a_model_that_squeezes_a_batch_of_one_is_understood(
    images: np.ndarray, answer: np.ndarray, options: dict[str, Any], expected: list[float]
) -> None:
    assert load_classifier(Recorder(answer), options=options).predict(images[:1]).tolist() == [expected]


@pytest.mark.parametrize("shape", [(9,), (9, 1)])
def test_labels_become_one_hot(images: np.ndarray, shape: tuple[int, ...]) -> None:
    labels = (np.arange(9) % 3).reshape(shape)
    answers = load_classifier(Recorder(labels), options={"output": "labels", "classes": 3}).predict(images)
    assert np.array_equal(answers.argmax(axis=1), np.arange(9) % 3)
    assert set(answers.ravel().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize(
    ("answer", "options", "message"),
    [
        (np.full((9, 4), np.nan), {}, "image 0 is not finite"),
        (np.full((9, 4), np.inf), {"output": "logits"}, "not finite"),
        (np.full((9, 4), 3.0), {}, "if they are logits, say output: logits"),
        (np.full((8, 4), 0.25), {}, r"answered 9 images with shape \(8, 4\)"),
        (np.full((9, 4, 2), 0.25), {}, r"shape \(9, 4, 2\)"),
        (np.zeros((9, 0)), {}, r"shape \(9, 0\)"),
        (np.full((9, 4), 0.25), {"classes": 5}, "4 classes, but the option classes speaks of 5"),
        (np.full(9, 7), {"output": "labels", "classes": 3}, "labels range from 7 to 7; expected 0 to 2"),
        (np.full(9, 0.5), {"output": "labels", "classes": 3}, "labels range from 0.5"),
        (np.zeros(9), {"output": "labels"}, "option classes must name the classes"),
        (np.array([["a"] * 4] * 9), {}, "type <U1; expected numbers"),
    ],
)
def test_a_wrong_answer_names_model_and_batch(
    images: np.ndarray, answer: np.ndarray, options: dict[str, Any], message: str
) -> None:
    classifier = load_classifier(Recorder(answer), options=options)
    with pytest.raises(ModelError, match=message) as caught:
        classifier.predict(images)
    assert "Recorder, batch 1 (9 images)" in str(caught.value)


def test_eight_bit_rounding_of_a_thousand_classes_is_no_error(images: np.ndarray) -> None:
    rounded = np.zeros((9, 1000))
    rounded[:, :100] = 2 / 256
    assert load_classifier(Recorder(rounded)).predict(images).shape == (9, 1000)


def test_a_model_that_changes_its_classes_is_caught(images: np.ndarray) -> None:
    recorder = Recorder()
    classifier = load_classifier(recorder)
    classifier.predict(images)
    recorder.answer = np.full((9, 5), 0.2)
    with pytest.raises(ModelError, match=r"batch 2 .* had \(4,\) before"):
        classifier.predict(images)


def test_a_model_that_raises_is_told_in_one_line(images: np.ndarray) -> None:
    def broken(inputs: np.ndarray) -> np.ndarray:
        raise RuntimeError("mat1 and mat2\ncannot be multiplied")

    with pytest.raises(ModelError, match=r"failed on batch 1 \(9 images\): mat1 and mat2$"):
        load_classifier(broken).predict(images)


def test_failed_batches_are_not_counted(images: np.ndarray) -> None:
    classifier = load_classifier(Recorder(np.full((9, 4), np.nan)))
    with pytest.raises(ModelError):
        classifier.predict(images)
    assert classifier.queries == 0


def test_a_model_for_one_image_at_a_time_says_which_option_helps(spec: ImageSpec) -> None:
    def single(inputs: np.ndarray) -> np.ndarray:
        return np.full((1, 4), 0.25)

    with pytest.raises(ModelError, match="say batch=1"):
        load_classifier(single, spec=spec)
    assert load_classifier(single, spec=spec, options={"batch": 1}).class_count == 4


def test_a_mean_for_three_channels_does_not_fit_one(spec: ImageSpec) -> None:
    with pytest.raises(ModelError, match=r"mean has 3 values, but the images have 1 channel"):
        load_classifier(Recorder(), options={"mean": [0, 0, 0]}, spec=spec)


def test_what_is_no_batch_of_images_is_refused() -> None:
    wrongs: list[Any] = [np.zeros((4, 4), np.float32), np.zeros((1, 1, 4, 4))]
    for wrong in wrongs:
        with pytest.raises(ModelError, match="expected float32"):
            load_classifier(Recorder()).predict(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layuot": "NHWC"}, "did you mean 'layout'"),
        ({"qqqq": 1}, "known: layout"),
        ({"layout": "HWC"}, "layout"),
        ({"range": [1, 0]}, "range must rise"),
        ({"std": [0]}, "std must be positive"),
        ({"batch": 0}, "batch"),
        ({"batch": True}, "batch"),
        ({"threads": 100_000}, "threads"),
        ({"classes": ["a", "b", "a"]}, "'a' stands twice"),
        ({"range": [0, float("inf")]}, "range"),
        ({"mean": [float("nan")]}, "mean"),
        ({"task": "detection"}, "task"),
    ],
)
def test_wrong_options_say_what_fits(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        load_classifier(Recorder(), options=options)


@pytest.mark.parametrize("text", ["2024-13-45", "[" * 3000, "{", "!!python/name:os.mkdir"])
def test_what_is_no_yaml_is_one_line(text: str) -> None:
    with pytest.raises(UsageError, match="--a mean") as caught:
        parse_assignments([f"mean={text}"], "--a")
    assert "\n" not in str(caught.value)


def test_one_number_serves_for_all_channels_and_numbers_for_names() -> None:
    options = load_classifier(Recorder(), options={"mean": 0.5, "classes": [1, 2, 3, 4]}).options
    assert options.mean == (0.5,)
    assert options.class_names == ("1", "2", "3", "4")


@pytest.mark.parametrize("wrong", [None, 5, ""])
def test_what_is_no_source_says_what_one_is(wrong: Any) -> None:
    with pytest.raises(ModelError, match="A model is a path"):
        load_classifier(wrong)


@pytest.mark.parametrize("assignment", ["layout", "=NHWC", ""])
def test_an_assignment_needs_a_key_and_a_value(assignment: str) -> None:
    with pytest.raises(UsageError, match="KEY=VALUE"):
        parse_assignments([assignment], "--a")


def test_the_fingerprint_of_a_function_is_of_its_answers(spec: ImageSpec) -> None:
    one = load_classifier(Recorder(), spec=spec)
    same = load_classifier(Recorder(lambda inputs: np.full((len(inputs), 4), 0.25 + 1e-7)), spec=spec)
    other = load_classifier(Recorder(lambda inputs: np.tile([0.3, 0.2, 0.25, 0.25], (len(inputs), 1))), spec=spec)
    assert one.fingerprint == same.fingerprint != other.fingerprint


def test_a_thousand_classes_work(images: np.ndarray, spec: ImageSpec) -> None:
    logits = np.random.default_rng(0).normal(size=(9, 1000))
    classifier = load_classifier(
        Recorder(lambda inputs: logits[: len(inputs)]), options={"output": "logits"}, spec=spec
    )
    assert np.array_equal(classifier.predict(images).argmax(axis=1), logits.argmax(axis=1))


def test_features_come_with_the_answers(images: np.ndarray) -> None:
    def both(inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return np.full((len(inputs), 4), 0.25), inputs[:, :, :2, 0]

    classifier = load_classifier(both, options={"features_name": "1"})
    answers, features = classifier.predict_with_features(images)
    assert answers.shape == (9, 4)
    assert np.array_equal(features, images[:, 0, :2, 0])
    with pytest.raises(ModelError, match="features_name"):
        load_classifier(both).predict_with_features(images)
