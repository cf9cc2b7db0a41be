"""What both models say of an image, where an answer hangs by a hair."""

from __future__ import annotations

import numpy as np
import pytest

from diffgan.check.outcomes import Answers, Outcome, ask
from diffgan.images import FloatImages, ImageSpec
from diffgan.models import Classifier, load_classifier

SPEC = ImageSpec(1, 4, 4)


def answering(*probabilities: float) -> Classifier:
    """Always the same."""

    def predict(images: FloatImages) -> np.ndarray:
        return np.tile(np.array(probabilities, dtype=np.float32), (len(images), 1))

    return load_classifier(predict, spec=SPEC, name=str(probabilities))


def asked(old: Classifier, new: Classifier) -> Answers:
    """About three images of class 1."""
    images = np.zeros((3, 4, 4, 1), dtype=np.uint8)
    return ask((old, new), np.arange(3), images, np.ones(3, dtype=np.int64))


@pytest.mark.parametrize("new", [(0.25, 0.25, 0.25, 0.25), (0.5, 0.0, 0.5, 0.0)])
def test_a_model_that_cannot_decide_does_not_get_the_old_ones_answers(new: tuple[float, ...]) -> None:
    said = asked(answering(0.1, 0.9, 0.0, 0.0), answering(*new))
    assert said.counts()[Outcome.REGRESSION] == 3


def test_models_that_say_the_same_but_for_rounding_agree() -> None:
    said = asked(answering(0.5 - 1e-7, 0.5 + 1e-7, 0.0), answering(0.5 + 1e-7, 0.5 - 1e-7, 0.0))
    assert said.counts()[Outcome.AGREED] == 3
