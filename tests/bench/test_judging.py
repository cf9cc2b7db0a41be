"""Judging an archive page by page: the same as all at once, with fewer questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from diffgan.bench.judging import judge_pages, valid_ones
from diffgan.bench.measuring import counts_at, curve_of
from diffgan.features.judge import Judge
from diffgan.images import ByteImages, FloatImages, ImageSpec

Float32s = NDArray[np.float32]


class Voter:
    """Its probabilities are the shares of the first three pixels; its features are all pixels."""

    def __init__(self, sharpness: float) -> None:
        self.name, self.asked, self._sharpness = "voter", 0, sharpness

    def predict(self, images: FloatImages) -> Float32s:
        self.asked += len(images)
        powers = np.exp(self._sharpness * images.reshape(len(images), -1)[:, :3])
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)

    def predict_with_features(self, images: FloatImages) -> tuple[Float32s, Float32s]:
        return self.predict(images), images.reshape(len(images), -1)


def judge(*sharpness: float, threshold: float = 0.8, features: float | None = 0.02) -> Judge:
    models = tuple(Voter(value) for value in sharpness)
    return Judge(models, ImageSpec(1, 2, 2), threshold, 0.05, features, batch=7)


def columns(images: ByteImages, **given: Any) -> dict[str, NDArray[Any]]:
    count = len(images)
    whole: dict[str, NDArray[Any]] = {
        "images": images,
        "label_a": np.zeros(count, dtype=np.int64),
        "label_b": np.ones(count, dtype=np.int64),
        "seconds": np.arange(count) / 10,
        "queries_a": np.arange(count),
        "queries_b": np.arange(count),
    }
    return whole | given


def paged(whole: dict[str, NDArray[Any]], size: int) -> Iterator[dict[str, NDArray[Any]]]:
    for start in range(0, len(whole["images"]), size):
        yield {name: values[start : start + size] for name, values in whole.items()}


@settings(max_examples=25)
@given(st.integers(0, 40), st.integers(1, 15), st.sampled_from([None, 0.02]), st.integers(0, 99))
def test_page_by_page_is_the_same_as_all_at_once(count: int, size: int, features: float | None, seed: int) -> None:
    rng = np.random.default_rng(seed)
    images = np.unique(rng.integers(0, 256, (count, 2, 2, 1), dtype=np.uint8), axis=0)
    rng.shuffle(images)
    whole = columns(images, label_a=rng.integers(0, 3, len(images)), label_b=rng.integers(0, 3, len(images)))
    ours = judge(4.0, 9.0, 6.0, features=features)
    expected = ours.measure(images, whole["label_a"], whole["label_b"], found=count + 5)
    judged = judge_pages(ours, paged(whole, size), found=count + 5)
    assert judged.measured.yardstick == expected.yardstick
    marks = [0.0, 0.5, 1.0, 3.0]
    assert judged.measured.dv_at(judged.seconds, marks) == expected.dv_at(whole["seconds"], marks)


def test_verdicts_are_the_judges_own() -> None:
    images = np.random.default_rng(0).integers(0, 256, (60, 2, 2, 1), dtype=np.uint8)
    ours = judge(4.0, 9.0, 6.0)
    rows, said = valid_ones(ours, images)
    expected = ours.verdicts(images)
    assert rows.tolist() == np.flatnonzero(expected.valid).tolist()
    assert 0 < len(rows) < 60
    for name in ("label", "confidence", "features"):
        assert np.array_equal(getattr(said, name), getattr(expected, name)[rows])


def test_a_model_is_not_asked_about_what_cannot_become_valid() -> None:
    grey, clear = np.full((2, 2, 1), 100, dtype=np.uint8), np.array([[[255], [0]], [[0], [0]]], dtype=np.uint8)
    ours = judge(9.0, 9.0, 9.0)
    rows, _ = valid_ones(ours, np.stack([grey, clear, grey]))
    assert rows.tolist() == [1]
    # Of the grey ones the first model gives 1/3 to each class: (1/3 + 1 + 1) / 3 is below 0.8.
    assert [model.asked for model in ours.models] == [3, 1, 1]  # type: ignore[attr-defined]


def test_a_curve_worked_by_hand() -> None:
    """Six triggers, two of them not valid, and of the four valid ones a near copy."""
    pixels = [
        [255, 0, 0, 0],  # valid, the first: DV 1, at 1 s
        [90, 90, 90, 0],  # no class stands out: not valid
        [250, 0, 0, 2],  # valid, but at cosine distance 0.00003 from the first: does not count
        [0, 255, 0, 0],  # valid, DV 2, at 4 s
        [80, 80, 80, 9],  # not valid
        [0, 0, 255, 0],  # valid, DV 3, at 6 s
    ]
    images = np.array(pixels, dtype=np.uint8).reshape(6, 2, 2, 1)
    whole = columns(
        images,
        seconds=np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        queries_a=np.array([10, 20, 30, 40, 50, 60]),
        queries_b=np.array([11, 21, 31, 41, 51, 61]),
        label_a=np.array([0, 0, 0, 1, 0, 0]),
        label_b=np.array([1, 1, 1, 0, 1, 1]),
    )
    judged = judge_pages(judge(9.0), paged(whole, 4), found=9)
    figures = judged.measured.yardstick
    assert (figures.triggers, figures.unique, figures.valid, figures.dv) == (9, 6, 4, 3)
    assert figures.share_valid == pytest.approx(4 / 6)
    # (0, 1) three times valid and twice in the DV; (1, 0) once.
    assert figures.cells == 2
    assert figures.largest_cell_share == pytest.approx(2 / 3)
    # The judge says 0, 0, 1, 2: A is right on three valid ones, and on the last nobody is.
    assert judged.who_is_right() == (3, 0, 1)
    assert figures.exactly_one_right == 2
    assert judged.measured.dv_at(judged.seconds, [0.5, 1, 3.9, 4, 10, 11], end=10) == (0, 1, 1, 2, 3, None)
    assert judged.measured.dv_at(judged.queries, [20, 21, 81, 121]) == (0, 1, 2, 3)


def test_an_archive_without_triggers_has_a_dv_of_0() -> None:
    figures = judge_pages(judge(9.0), iter([]), found=0).measured.yardstick
    assert (figures.triggers, figures.dv, figures.share_valid) == (0, 0, None)


def test_nobody_knows_what_was_found_after_the_end() -> None:
    assert counts_at(np.empty(0), [1, 3], end=2) == [0, None]
    assert counts_at(np.array([1.0, 2.0]), [], end=2) == []


def test_a_long_curve_is_stored_in_few_points_with_both_ends() -> None:
    curve = curve_of(np.arange(5000) / 100, np.arange(5000))
    assert len(curve["count"]) == 200
    assert (curve["count"][0], curve["count"][-1], curve["queries"][-1]) == (1, 5000, 4999)
    assert curve_of(np.empty(0), np.empty(0))["count"] == []
