"""The figures of choices, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffgan.selection.scores import Choices, against, balanced_accuracy, score_choices


def mask(text: str) -> np.ndarray:
    return np.array([letter == "1" for letter in text])


def test_a_choice_by_hand() -> None:
    # A is right on the first four, B on the last; chosen rightly are three of four, and one of one.
    choices = Choices(chose_b=mask("00011"), b_is_right=mask("00001"), mean_is_right=mask("11110"))
    scores = score_choices(choices, majority_is_b=True)
    assert (scores.images, scores.share_b, scores.accuracy.value) == (5, 0.2, 0.8)
    assert (scores.right_of_a, scores.right_of_b, scores.balanced.value) == (0.75, 1.0, 0.875)
    rivals = {name: rival.accuracy for name, rival in scores.rivals.items()}
    assert rivals == {
        "always A": 0.8,
        "always B": 0.2,
        "majority class": 0.2,
        "random choice": 0.5,
        "oracle choice": 1.0,
        "mean of both": 0.8,
    }
    # Against always A: the selector alone is right on the last one, always A alone on the fourth.
    rival = scores.rivals["always A"]
    assert (rival.only_selector, rival.only_rival, rival.p) == (1, 1, 1.0)
    assert scores.rivals["random choice"].p is None


def test_mcnemar_is_exact_on_few() -> None:
    rival = against(mask("11111000"), mask("00001000"))
    assert (rival.only_selector, rival.only_rival) == (4, 0)
    assert rival.p == pytest.approx(2 * 0.5**4)


def test_a_class_without_images_has_no_share() -> None:
    scores = score_choices(Choices(mask("01"), mask("11"), mask("11")), majority_is_b=True)
    assert (scores.right_of_a, scores.right_of_b, scores.balanced.value) == (None, 0.5, 0.5)


def test_the_same_seed_gives_the_same_interval() -> None:
    rng = np.random.default_rng(0)
    choices = Choices(rng.random(60) < 0.5, rng.random(60) < 0.3, rng.random(60) < 0.5)
    first, second = (score_choices(choices, majority_is_b=False, seed=7) for _ in range(2))
    assert first == second
    assert first.balanced.low < first.balanced.value < first.balanced.high


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=30))
def test_always_one_model_has_half_the_balance(pairs: list[tuple[bool, bool]]) -> None:
    is_b = np.array([pair[1] for pair in pairs], dtype=np.float64)
    always_b = balanced_accuracy(np.stack([is_b, is_b], axis=1)[None])[0]
    assert always_b == pytest.approx(0.5 if 0 < is_b.sum() < len(is_b) else float(is_b[0]))
