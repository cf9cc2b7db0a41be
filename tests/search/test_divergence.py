"""Divergences: the paper's examples worked out by hand, what holds for all, and what is refused."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from diffgan.errors import ModelError, UsageError
from diffgan.search.divergence import divergence_named, divergence_names

Floats = NDArray[np.float64]
RANGES = {"euclidean": 1 + 2**0.5, "total-variation": 1, "jensen-shannon": 1, "hellinger": 1, "margin": 2}
weights = arrays(np.float64, (3, 4), elements=st.sampled_from([0.0, 1e-9, 0.3, 1.0, 2.0, 7.0]))


def probabilities(drawn: Floats) -> Floats:
    """Rows that sum to one; a row of zeros becomes certain of the last class."""
    rows = drawn + np.where(drawn.any(axis=1, keepdims=True), 0, [0, 0, 0, 1])
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def test_the_papers_examples() -> None:
    # sqrt(3 · 0.1² + 0.3²) = sqrt(0.12); sqrt(3 · 0.05² + 0.35²) = sqrt(0.13), and the labels are 3 and 2.
    a = np.array([[0.05, 0.05, 0.05, 0.85], [0.1, 0.2, 0.3, 0.4]])
    b = np.array([[0.15, 0.15, 0.15, 0.55], [0.15, 0.25, 0.35, 0.05]])
    result = divergence_named("euclidean")(a, b)
    assert result.amount.round(4).tolist() == [0.3464, 1.3606]
    assert result.triggers.tolist() == [False, True]
    assert result.amount.dtype == np.float64


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("total-variation", [0.5, 1]),
        # The middle of (1, 0) and (½, ½) is (¾, ¼): ½ (log₂ 4/3) + ½ (½ log₂ 2/3 + ½ log₂ 2) = 0.31128.
        ("jensen-shannon", [0.31128**0.5, 1]),
        # (1 - √½)² + ½ = 2 - √2, halved: 1 - √½.
        ("hellinger", [(1 - 0.5**0.5) ** 0.5, 1]),
        ("margin", [1, 2]),  # leads of 1 and 0 for the same label; then all of both leads is lost, and as much again
    ],
)
def test_golden_values(name: str, expected: list[float]) -> None:
    result = divergence_named(name)(np.array([[1.0, 0], [1, 0]]), np.array([[0.5, 0.5], [0, 1]]))
    np.testing.assert_allclose(result.amount, expected, atol=1e-5)
    assert result.triggers.tolist() == [False, True]


def test_the_margin_of_two_labels_by_hand() -> None:
    # A leads by .2 for 0, where B trails by .3; B leads by .3 for 1, where A trails by .2: (.5 + .5) / 2.
    result = divergence_named("margin")(np.array([[0.5, 0.3, 0.2]]), np.array([[0.3, 0.6, 0.1]]))
    np.testing.assert_allclose(result.amount, [0.5])


@pytest.mark.parametrize("name", RANGES)
@given(weights, weights)
def test_it_is_symmetric_within_its_range_and_zero_for_equal_outputs(name: str, first: Floats, second: Floats) -> None:
    a, b = probabilities(first), probabilities(second)
    divergence = divergence_named(name)
    there, back = divergence(a, b), divergence(b, a)
    np.testing.assert_allclose(there.amount, back.amount, atol=1e-12)
    np.testing.assert_array_equal(there.triggers, back.triggers)
    assert ((there.amount >= 0) & (there.amount <= RANGES[name] + 1e-12)).all()
    same = divergence(a, a)
    np.testing.assert_allclose(same.amount, 0, atol=1e-12)
    assert not same.triggers.any()


@given(weights, weights)
def test_euclidean_adds_one_exactly_for_triggers(first: Floats, second: Floats) -> None:
    a, b = probabilities(first), probabilities(second)
    result = divergence_named("euclidean")(a, b)
    np.testing.assert_allclose(result.amount, np.linalg.norm(a - b, axis=1) + result.triggers)
    np.testing.assert_array_equal(result.triggers, a.argmax(axis=1) != b.argmax(axis=1))


@pytest.mark.parametrize("name", RANGES)
def test_the_lowest_of_equally_probable_classes_is_the_label(name: str) -> None:
    a, b = np.array([[0.4, 0.4, 0.2], [0.4, 0.4, 0.2]]), np.array([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]])
    assert divergence_named(name)(a, b).triggers.tolist() == [False, True]


@pytest.mark.parametrize("name", RANGES)
def test_no_images_give_no_divergences(name: str) -> None:
    assert divergence_named(name)(np.empty((0, 3)), np.empty((0, 3))).amount.shape == (0,)


def test_float32_outputs_are_compared_in_float64() -> None:
    a, b = np.array([[0.6, 0.4]], dtype=np.float32), np.array([[0.5, 0.5]], dtype=np.float32)
    expected = np.linalg.norm(a.astype(np.float64) - b.astype(np.float64), axis=1)
    np.testing.assert_allclose(divergence_named("euclidean")(a, b).amount, expected, rtol=1e-15)


def test_differences_of_numbers() -> None:
    a, b = np.array([[1.0, 5], [2, 0]]), np.array([[1.5, 4], [2, 0]])
    absolute = divergence_named("absolute", threshold=0.75)(a, b)
    assert absolute.amount.tolist() == [1, 0]
    assert absolute.triggers.tolist() == [True, False]
    relative = divergence_named("relative", threshold=0.34)(a, b)
    np.testing.assert_allclose(relative.amount, [1 / 3, 0])
    assert relative.triggers.tolist() == [False, False]


def test_a_threshold_must_be_exceeded() -> None:
    divergence = divergence_named("absolute", threshold=0.5)
    assert divergence(np.array([0.0, 0.0]), np.array([0.5, -0.75])).triggers.tolist() == [False, True]


@given(arrays(np.float64, (4, 2), elements=st.floats(-1e6, 1e6)), arrays(np.float64, (4, 2), elements=st.floats(-9, 9)))
def test_relative_differences_lie_between_0_and_2(a: Floats, b: Floats) -> None:
    amount = divergence_named("relative", threshold=0.1)(a, b).amount
    assert ((amount >= 0) & (amount <= 2)).all()
    np.testing.assert_array_equal(amount, divergence_named("relative", threshold=0.1)(b, a).amount)


def test_overlap_by_hand() -> None:
    # Label 0: 2 of 3 pixels overlap; label 1: 1 of 2. Mean 7/12. Label 9 is in neither and does not count.
    a, b = np.array([[[0, 0], [1, 1]], [[9, 9], [9, 9]]]), np.array([[[0, 0], [0, 1]], [[9, 9], [9, 9]]])
    result = divergence_named("iou", threshold=0.4)(a, b)
    np.testing.assert_allclose(result.amount, [5 / 12, 0])
    assert result.triggers.tolist() == [True, False]


def test_probabilities_segment_by_their_most_probable_label() -> None:
    labels = np.array([[[0, 2], [1, 1]]])
    spread = np.moveaxis(np.eye(3)[labels], -1, 1) * 0.5 + 0.1
    assert divergence_named("iou", threshold=0)(spread, labels).amount.tolist() == [0]
    foreground = np.array([[[[0.2, 0.9], [0.5, 0.6]]]])
    assert divergence_named("iou", threshold=0)(foreground, np.array([[[0, 1], [0, 1]]])).amount.tolist() == [0]


maps = arrays(np.int64, (3, 2, 3), elements=st.integers(0, 3))


@given(maps, maps)
def test_overlap_equals_the_definition(a: NDArray[np.int64], b: NDArray[np.int64]) -> None:
    result = divergence_named("iou", threshold=0.5)(a, b)
    for one, other, amount in zip(a, b, result.amount, strict=True):
        present = np.union1d(one, other)
        ratios = [((one == k) & (other == k)).sum() / ((one == k) | (other == k)).sum() for k in present]
        assert amount == pytest.approx(1 - np.mean(ratios))
    np.testing.assert_array_equal(result.amount, divergence_named("iou", threshold=0.5)(b, a).amount)
    assert not divergence_named("iou", threshold=0)(a, a).triggers.any()


@pytest.mark.parametrize(
    ("name", "a", "b", "message"),
    [
        ("euclidean", np.ones((2, 3)), np.ones((2, 4)), r"\(2, 3\) and \(2, 4\)"),
        ("euclidean", np.ones(2), np.ones(2), "classes"),
        ("margin", np.ones((2, 1)), np.ones((2, 1)), "at least 2"),
        ("hellinger", np.ones((1, 2)), np.array([[np.nan, 1]]), "Model B gave 1 outputs that are NaN"),
        ("absolute", np.ones((2, 3)), np.ones((2, 4)), r"\(2, 3\) and \(2, 4\)"),
        ("relative", np.array([np.inf]), np.ones(1), "Model A"),
        ("iou", np.ones((1, 2, 2)), np.ones((1, 2, 3)), r"\(1, 2, 2\) and \(1, 2, 3\)"),
        ("iou", np.ones((1, 2)), np.ones((1, 2)), "N×C×H×W"),
        ("iou", np.full((1, 2, 2), 0.5), np.ones((1, 2, 2)), "whole numbers"),
        ("iou", np.full((1, 2, 2), -1), np.ones((1, 2, 2)), "from -1"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(name: str, a: Floats, b: Floats, message: str) -> None:
    options = {} if name in RANGES else {"threshold": 0.1}
    with pytest.raises(ModelError, match=message):
        divergence_named(name, **options)(a, b)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("cosine", {}, "There is no divergence 'cosine'; expected one of euclidean"),
        ("euclidean", {"threshold": 1}, "takes no options, but was given threshold=1"),
        ("absolute", {}, "takes threshold, but was given none"),
        ("iou", {"threshold": -1}, "threshold is -1"),
        ("relative", {"threshold": float("nan")}, "threshold is nan"),
    ],
)
def test_names_and_options_that_do_not_exist_are_refused(name: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        divergence_named(name, **options)


def test_an_installed_package_adds_a_divergence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "added_divergence.py").write_text(
        "from diffgan.search.divergence import divergence_named\ndef make():\n    return divergence_named('margin')\n"
    )
    folder = tmp_path / "added_divergence-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: added-divergence\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text("[diffgan.divergences]\nadded = added_divergence:make\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    assert divergence_names()[-1] == "added"
    assert divergence_named("added").name == "margin"


def test_every_name_gives_a_divergence_of_that_name() -> None:
    for name in divergence_names():
        options = {} if name in {*RANGES, "worsening"} else {"threshold": 0.1}
        assert divergence_named(name, **options).name == name
