"""The lean recogniser: what it says does not depend on how many images it is shown, and it lets most real ones pass."""

from __future__ import annotations

import numpy as np
import pytest

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import DataError
from diffgan.filters import lean
from diffgan.filters.lean import BLOCK, BLOCK_IN_BFLOAT16, LeanRecogniser, lean_recogniser
from diffgan.filters.recogniser import greatest, train_recogniser
from diffgan.precision import is_brisk


@pytest.fixture(scope="module")
def data() -> Dataset:
    return load_dataset("digits:test")


@pytest.fixture(scope="module")
def recognises(data: Dataset) -> LeanRecogniser:
    made = lean_recogniser(data)
    assert isinstance(made, LeanRecogniser)
    return made


def test_nearly_all_real_images_are_recognised_and_no_noise(recognises: LeanRecogniser) -> None:
    unseen = load_dataset("digits:judge").images
    noise = np.random.default_rng(0).integers(0, 17, unseen.shape).astype(np.uint8) * 15
    assert recognises(unseen).mean() > 0.85
    assert recognises(noise).mean() < 0.1


def test_a_verdict_does_not_depend_on_the_others_in_the_batch(recognises: LeanRecogniser, data: Dataset) -> None:
    size = BLOCK_IN_BFLOAT16 if is_brisk() else BLOCK
    whole = recognises.confidence(data.images[: size + 3])
    assert recognises.confidence(data.images[size : size + 1])[0] == pytest.approx(whole[size], abs=1e-6)
    assert len(recognises(data.images[:0])) == 0
    assert len(recognises.confidence(data.images[:0])) == 0


def test_the_second_look_is_only_spared_where_it_changes_nothing(recognises: LeanRecogniser, data: Dataset) -> None:
    rng = np.random.default_rng(1)
    mixed = (data.images[:200] // 2 + data.images[rng.permutation(200)] // 2).astype(np.uint8)
    expected = recognises.confidence(mixed) >= recognises.threshold
    assert 0 < expected.sum() < len(mixed)
    assert (recognises(mixed) == expected).all()


def test_folding_changes_no_answer_by_more_than_rounding(data: Dataset) -> None:
    trained = train_recogniser(data, members=2, fewest_seen=12_800, times=1, lean=True, seed=5)
    folded = LeanRecogniser(trained).confidence(data.images)
    assert folded == pytest.approx(greatest(trained.probabilities(data.images)), abs=0.02 if is_brisk() else 1e-5)


def test_data_that_cannot_be_told_apart_has_none(data: Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lean, "FEWEST_SEEN", 640)
    monkeypatch.setattr(lean, "TIMES", 1)
    noise = np.random.default_rng(0).integers(0, 255, data.images.shape, dtype=np.uint8)
    with pytest.raises(DataError, match="A small classifier is right about"):
        lean_recogniser(Dataset.checked("noise", noise, data.labels, classes=data.classes))


def test_a_glance_lets_most_real_images_pass_and_tells_features(recognises: LeanRecogniser) -> None:
    unseen = load_dataset("digits:judge").images
    noise = np.random.default_rng(0).integers(0, 17, unseen.shape).astype(np.uint8) * 15
    may, features = recognises.glance(unseen)
    assert may.mean() > 0.8
    assert recognises.glance(noise)[0].mean() < 0.15
    assert features.shape[0] == len(unseen)
    assert features.dtype == np.float32
    assert (features >= 0).all()
    assert features.std(axis=0).max() > 0
    one = recognises.glance(unseen[5:6])
    np.testing.assert_allclose(one[1][0], features[5], atol=1e-5)
