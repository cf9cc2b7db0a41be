"""The recogniser, and the filter that asks it: training, cache, thresholds with and without triggers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import DataError, UsageError
from diffgan.features.learned import LearnedClassifier
from diffgan.features.shifts import shifted_copies
from diffgan.filters.protocol import Candidates
from diffgan.filters.recognisable import RecognisableFilter
from diffgan.filters.recogniser import Recogniser, hold_out, train_recogniser
from diffgan.images import ByteImages


def quick(dataset: Dataset, *, seed: int = 0, report: Callable[[int, int], None] = lambda *_: None) -> Recogniser:
    return train_recogniser(dataset, members=2, fewest_seen=9_600, seed=seed, report=report)


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset("digits")


@pytest.fixture(scope="module")
def recogniser(digits: Dataset) -> Recogniser:
    return quick(digits)


def candidates(images: ByteImages) -> Candidates:
    return Candidates(ids=np.arange(len(images)), images=images, classes=None, divergence=np.ones(len(images)))


class Told(LearnedClassifier):
    """Is as sure of class 1 as the brightness of an image's first pixel, or what becomes of that."""

    def __init__(self, become: Callable[[np.ndarray], np.ndarray] = lambda sure: sure) -> None:
        self.become = become

    def probabilities(self, images: ByteImages) -> np.ndarray:
        sure = self.become(images[:, 0, 0, 0] / np.float32(255)).astype(np.float32)
        return np.stack([1 - sure, sure], axis=1)


def images_of(*levels: int) -> ByteImages:
    return np.broadcast_to(np.array(levels, np.uint8)[:, None, None, None], (len(levels), 8, 8, 1)).copy()


def told(*members: Told, real: ByteImages) -> Recogniser:
    return Recogniser(members, Dataset.checked("x", real, np.arange(len(real)) % 2))


def test_real_digits_pass_and_what_is_none_does_not(recogniser: Recogniser) -> None:
    made = RecognisableFilter.calibrated(recogniser)
    assert recogniser.accuracy() > 0.9
    real = recogniser.held_out.images
    assert np.mean(made.scores(candidates(real)) >= made.threshold) == pytest.approx(0.95, abs=0.02)
    blends = (real[:-1] // 2 + real[1:] // 2)[recogniser.held_out.labels[:-1] != recogniser.held_out.labels[1:]]
    noise = np.random.default_rng(0).integers(0, 256, real.shape, dtype=np.uint8)
    for invalid in (blends, noise, np.zeros_like(real[:1]), np.full_like(real[:1], 255)):
        assert np.mean(made.scores(candidates(invalid)) >= made.threshold) < 0.5


def test_the_same_seed_gives_the_same_scores_and_the_cache_keeps_them(digits: Dataset, recogniser: Recogniser) -> None:
    reports: list[tuple[int, int]] = []
    again = quick(digits, report=lambda done, total: reports.append((done, total)))
    assert reports == []
    assert again.identity == recogniser.identity
    np.testing.assert_array_equal(again.confidence(digits.images), recogniser.confidence(digits.images))


def test_training_anew_gives_the_same_and_another_seed_another(
    digits: Dataset, recogniser: Recogniser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DIFFGAN_CACHE", str(tmp_path))
    reports: list[tuple[int, int]] = []
    torch.manual_seed(123)
    anew = quick(digits, report=lambda done, total: reports.append((done, total)))
    assert anew.identity == recogniser.identity
    total = 2 * (9_600 // 64)
    assert reports == [(done, total) for done in range(1, total + 1)]
    other = quick(digits, seed=1)
    assert other.identity != recogniser.identity
    assert not np.array_equal(other.held_out.images, recogniser.held_out.images)


def test_every_class_is_held_out_and_no_member_sees_it(digits: Dataset, recogniser: Recogniser) -> None:
    rows = hold_out(digits.labels, seed=0)
    assert len(rows) == pytest.approx(100, rel=0.1)
    np.testing.assert_array_equal(recogniser.held_out.images, digits.images[rows])
    counts = np.bincount(digits.labels[rows], minlength=10)
    assert np.ptp(counts) <= 2
    assert len(hold_out(np.arange(10_000) % 10, seed=0)) == 500
    assert len(hold_out(np.arange(200) % 10, seed=0)) == 100


def test_shifted_copies_move_by_whole_pixels_and_repeat_the_edge() -> None:
    image = torch.arange(200, dtype=torch.float32).reshape(1, 2, 10, 10)
    copies = shifted_copies(image.expand(300, -1, -1, -1), torch.Generator().manual_seed(0))
    edged = np.pad(image[0].numpy(), ((0, 0), (1, 1), (1, 1)), mode="edge")
    moves = {edged[:, down : down + 10, right : right + 10].tobytes() for down in range(3) for right in range(3)}
    assert {copy.contiguous().numpy().tobytes() for copy in copies} == moves


def test_scores_are_the_greatest_mean_probability() -> None:
    both = told(Told(), Told(np.square), real=images_of(*range(100, 200)))
    scores = RecognisableFilter.calibrated(both).scores(candidates(images_of(0, 51, 255)))
    np.testing.assert_allclose(scores, [1, 1 - (0.2 + 0.04) / 2, 1], atol=1e-6)
    assert RecognisableFilter.calibrated(both).scores(candidates(images_of())).shape == (0,)


def test_the_threshold_is_the_real_images_quantile() -> None:
    real = images_of(*range(155, 256))
    made = RecognisableFilter.calibrated(told(Told(), real=real), keep=0.9)
    assert made.threshold == pytest.approx(165 / 255)
    assert (made.keep, made.name) == (0.9, "recognisable")
    assert made.reason(0.25) == "classifiers of the data are sure of what it shows by 0.25, below 0.647"


def test_an_adapted_threshold_retains_what_a_member_left_out_finds_valid() -> None:
    # Members agree, so the one left out finds valid what the other is surer of than of 5 real images in 101.
    real, alike = images_of(*range(155, 256)), (Told(), Told())
    made = RecognisableFilter.calibrated(told(*alike, real=real))
    # 161 to 180: all 20 are valid; a quarter lies below the 75 % that are retained, between 165 and 166.
    some = candidates(images_of(*range(140, 181)))
    adapted = made.adapted(some, retain=0.75)
    assert adapted.keep == pytest.approx(90 / 101)
    assert 165 / 255 < adapted.threshold < 166 / 255
    assert adapted.recogniser is made.recogniser
    many = candidates(np.repeat(some.images, 200, axis=0))
    assert made.adapted(many, retain=0.75).threshold == pytest.approx(adapted.threshold, abs=1 / 255)


def test_without_enough_valid_triggers_the_threshold_stays() -> None:
    real = images_of(*range(155, 256))
    made = RecognisableFilter.calibrated(told(Told(), Told(), real=real))
    for levels in ((), tuple(range(141, 180))):
        assert made.adapted(candidates(images_of(*levels))) is made
    lonely = RecognisableFilter.calibrated(told(Told(), real=real))
    assert lonely.adapted(candidates(real)) is lonely


@pytest.mark.parametrize("share", [0, 1.5, float("nan")])
def test_shares_out_of_range_are_refused(share: float) -> None:
    recogniser = told(Told(), Told(), real=images_of(*range(155, 256)))
    with pytest.raises(UsageError, match="share of real images to keep"):
        RecognisableFilter.calibrated(recogniser, keep=share)
    with pytest.raises(UsageError, match="share of valid triggers to retain"):
        RecognisableFilter.calibrated(recogniser).adapted(candidates(images_of(1)), retain=share)


def test_data_that_teach_nothing_are_refused(digits: Dataset) -> None:
    with pytest.raises(DataError, match="199 images of 10 classes"):
        train_recogniser(digits.part("few", np.arange(199)))
    one = Dataset.checked("one class", digits.images, np.zeros(len(digits), dtype=np.int64))
    with pytest.raises(DataError, match="images of 1 classes"):
        train_recogniser(one)
    noise = Dataset.checked(
        "noise", np.random.default_rng(0).integers(0, 256, (200, 8, 8, 1), dtype=np.uint8), np.arange(200) % 10
    )
    with pytest.raises(DataError, match=r"right about \d+% of the images of noise .* do without the recognisable"):
        train_recogniser(noise, members=1, fewest_seen=640)
