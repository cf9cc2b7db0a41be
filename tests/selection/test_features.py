"""What the forest sees of an image."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diffgan.errors import DiffganError, ModelError, UsageError
from diffgan.selection.features import FeatureFacts, Pixels, agreement, check_name, open_features, thirds
from diffgan.selection.selector import Chooser


def test_thirds_add_up_to_one_each() -> None:
    outputs = np.array([[0.1, 0.3, 0.2, 0.2, 0.0, 0.2], [0.5, 0.5, 0, 0, 0, 0]], dtype=np.float32)
    truth, a, b = thirds(outputs)
    assert truth[0].tolist() == pytest.approx([0.25, 0.75])
    assert a[0].tolist() == [0.5, 0.5]
    assert b[0].tolist() == [0, 1]
    assert a[1].tolist() == [0, 0]


def test_agreement_by_hand() -> None:
    truth, a, b = np.array([[[0.7, 0.2, 0.1]], [[0.6, 0.3, 0.1]], [[0.1, 0.1, 0.8]]], dtype=np.float32)
    found = agreement(truth, a, b)[0]
    with_a, with_b = 0.42 + 0.06 + 0.01, 0.07 + 0.02 + 0.08
    wanted = [
        *(with_a, with_b, 0.06 + 0.03 + 0.08),
        *(0.7, 0.1, 0.6, 0.1, 0.1, 0.1),
        *(0.7, 0.6, 0.8),
        *(with_b - with_a, 0.1 - 0.7, np.log(0.1701 / 0.4901), np.log(0.1001 / 0.7001)),
    ]
    assert found.tolist() == pytest.approx(wanted, abs=1e-5)


def test_agreement_does_not_depend_on_the_order_of_classes() -> None:
    rng = np.random.default_rng(0)
    answers = [rng.dirichlet(np.ones(5), 20).astype(np.float32) for _ in range(3)]
    order = rng.permutation(5)
    assert np.allclose(agreement(*answers), agreement(*(answer[:, order] for answer in answers)), atol=1e-6)


def test_pixels_are_from_zero_to_one() -> None:
    images = np.array([0, 51, 255], dtype=np.uint8).reshape(3, 1, 1, 1)
    assert Pixels().features(images).ravel().tolist() == pytest.approx([0, 0.2, 1])


def test_mimic_says_what_the_models_answer(trained: Path) -> None:
    chooser = Chooser.load(trained)
    found = chooser.features.features(chooser.seen[:5])
    assert found.shape == (5, 16 + 96)
    assert np.array_equal(found[:, 16:], chooser.learned.features(chooser.seen[:5]))
    assert chooser.features.identity == chooser.card.features.identity
    assert chooser.card.unlabelled + chooser.card.counts.only_a + chooser.card.counts.only_b == len(chooser.seen)


@pytest.mark.parametrize(
    ("name", "weights", "said"),
    [("hog", None, "expected one of mimic, learned, vgg16, pixels"), ("pixels", Path("w.pth"), "pixels takes none")],
)
def test_names_are_checked(name: str, weights: Path | None, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        check_name(name, weights)


def test_weights_that_are_gone_or_others_are_said(trained: Path, tmp_path: Path) -> None:
    learned = Chooser.load(trained).learned
    gone = FeatureFacts(name="vgg16", identity="vgg16-00000000", weights=str(tmp_path / "gone.pth"))
    with pytest.raises(DiffganError, match=r"gone\.pth"):
        open_features(gone, trained, learned, weights=None)
    other = FeatureFacts(name="learned", identity="learned-00000000")
    with pytest.raises(ModelError, match="learned-00000000"):
        open_features(other, trained, learned, weights=None)
