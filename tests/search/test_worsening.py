"""The gate's divergence, by hand, and how the class that an image was made for comes to it."""

from __future__ import annotations

import numpy as np

from diffgan.search.divergence import divergence_named
from diffgan.search.evaluation import Evaluator
from tests.search.pairs import SPEC, pair


def test_old_right_and_new_wrong_is_worth_most() -> None:
    right, wrong = [0.7, 0.2, 0.1], [0.2, 0.7, 0.1]
    a, b = np.array([right, wrong, right, right]), np.array([wrong, right, right, wrong])
    said = divergence_named("worsening")(a, b, np.array([0, 0, 0, 2]))
    # Leads of the expected class: 0.5, -0.5, 0.5, -0.6 in A and -0.5, 0.5, 0.5, -0.6 in B.
    assert said.amount.round(6).tolist() == [2.0, -1.0, 0.0, 0.0]
    assert said.triggers.tolist() == [True, True, False, True]


def test_without_classes_the_first_models_label_stands_in() -> None:
    a, b = np.array([[0.7, 0.3]]), np.array([[0.4, 0.6]])
    assert divergence_named("worsening")(a, b).amount.round(6).tolist() == [1.6]


def test_the_class_that_was_asked_for_guides() -> None:
    images = np.random.default_rng(0).integers(0, 256, (50, SPEC.height, SPEC.width, 1), dtype=np.uint8)
    evaluator = Evaluator(*pair(), divergence_named("worsening"))
    asked = evaluator.evaluate(images, expected=np.zeros(50, dtype=np.int64))
    others = evaluator.evaluate(images, expected=np.ones(50, dtype=np.int64))
    assert np.array_equal(asked.triggers, others.triggers)
    assert not np.array_equal(asked.divergence, others.divergence)
