"""The discriminator filter: how it is calibrated, and on what."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import DataError, GeneratorError, UsageError
from diffgan.filters.discriminator import DiscriminatorFilter
from diffgan.filters.protocol import Candidates
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.training import Training
from diffgan.generators.architecture import Architecture
from diffgan.generators.artifact import seeded_networks, write_artifact
from diffgan.generators.card import Card, DataCard
from diffgan.generators.discriminator import Discriminator, load_discriminator
from diffgan.generators.priors import NormalPrior
from diffgan.images import ByteImages

HELD_OUT = tuple(range(0, 200, 2))


def pictures(count: int, seed: int = 0) -> ByteImages:
    return np.random.default_rng(seed).integers(0, 256, (count, 8, 8, 1), dtype=np.uint8)


@pytest.fixture
def data() -> Dataset:
    return Dataset.checked("some data", pictures(200), np.arange(200) // 2 % 3)


def discriminator_of(data: Dataset, folder: Path, *, classes: int | None = 3) -> Discriminator:
    architecture = Architecture(latent=5, image=(1, 8, 8), classes=classes, width=4)
    generator, network = seeded_networks(architecture, seed=0)
    about = DataCard(
        name=data.name, fingerprint=data.fingerprint, images=200, class_names=data.classes, held_out=HELD_OUT
    )
    card = Card(diffgan="0", architecture=architecture, prior=NormalPrior(), data=about, training={})
    write_artifact(folder, generator=generator, discriminator=network, card=card)
    return load_discriminator(folder)


def candidates(images: ByteImages, classes: np.ndarray | None = None) -> Candidates:
    return Candidates(ids=np.arange(len(images)), images=images, classes=classes, divergence=np.ones(len(images)))


@pytest.mark.parametrize("with_classes", [True, False])
@pytest.mark.parametrize("keep", [0.95, 0.5, 1])
def test_it_keeps_the_stated_share_of_what_was_held_out(
    data: Dataset, tmp_path: Path, keep: float, with_classes: bool
) -> None:
    discriminator = discriminator_of(data, tmp_path / "g")
    made = DiscriminatorFilter.calibrated(discriminator, data, keep=keep, with_classes=with_classes)
    rows = np.array(HELD_OUT)
    real = candidates(data.images[rows], data.labels[rows])
    assert np.mean(made.scores(real) >= made.threshold) == pytest.approx(keep, abs=0.01)
    unseen = candidates(data.images[1::2], data.labels[1::2])
    assert not np.array_equal(made.scores(unseen), made.scores(real))


def test_the_class_of_a_trigger_is_told(data: Dataset, tmp_path: Path) -> None:
    discriminator = discriminator_of(data, tmp_path / "g")
    told = DiscriminatorFilter.calibrated(discriminator, data)
    untold = DiscriminatorFilter.calibrated(discriminator, data, with_classes=False)
    images, classes = pictures(20, seed=1), np.arange(20) % 4 - 1
    np.testing.assert_array_equal(told.scores(candidates(images, classes)), discriminator.score(images, classes))
    np.testing.assert_array_equal(untold.scores(candidates(images, classes)), discriminator.score(images))
    np.testing.assert_array_equal(told.scores(candidates(images)), discriminator.score(images))
    assert told.identity != untold.identity


def test_a_discriminator_without_classes_is_told_none(data: Dataset, tmp_path: Path) -> None:
    made = DiscriminatorFilter.calibrated(discriminator_of(data, tmp_path / "g", classes=None), data)
    assert not made.with_classes
    assert made.scores(candidates(pictures(3), np.array([0, 1, 9]))).shape == (3,)


def test_no_triggers_have_no_scores(data: Dataset, tmp_path: Path) -> None:
    made = DiscriminatorFilter.calibrated(discriminator_of(data, tmp_path / "g"), data)
    assert made.scores(candidates(pictures(1)[:0], np.empty(0, dtype=np.int64))).shape == (0,)


def test_a_verdict_has_a_reason(data: Dataset, tmp_path: Path) -> None:
    made = replace(DiscriminatorFilter.calibrated(discriminator_of(data, tmp_path / "g"), data), threshold=-0.25)
    assert made.reason(-1.5) == "looks less real (-1.5) than the images held out mostly do (from -0.25)"


def test_what_does_not_fit_is_refused(data: Dataset, tmp_path: Path) -> None:
    discriminator = discriminator_of(data, tmp_path / "g")
    for share in (0, -0.1, 1.1, float("nan")):
        with pytest.raises(UsageError, match="share of real images to keep"):
            DiscriminatorFilter.calibrated(discriminator, data, keep=share)
    other = Dataset.checked("other data", pictures(200, seed=2), data.labels)
    with pytest.raises(GeneratorError, match=r"was trained on some data \(200 images, .*not on other data"):
        DiscriminatorFilter.calibrated(discriminator, other)
    for rows in ((), (200,), (-1,)):
        lost = replace(discriminator, data=discriminator.data.model_copy(update={"held_out": rows}))
        with pytest.raises(GeneratorError, match="holds out no images of some data"):
            DiscriminatorFilter.calibrated(lost, data)
    made = DiscriminatorFilter.calibrated(discriminator, data)
    with pytest.raises(DataError, match="takes images of 1×8×8, not 1×9×9"):
        made.scores(candidates(np.zeros((2, 9, 9, 1), np.uint8)))


def test_real_digits_mostly_pass_and_noise_does_not(tmp_path: Path) -> None:
    digits = load_dataset("digits:test")
    Training(digits, TrainingSettings(steps=150, width=8, batch=32), tmp_path / "gan").run()
    made = DiscriminatorFilter.calibrated(load_discriminator(tmp_path / "gan"), digits)
    real = made.scores(candidates(digits.images, digits.labels)) >= made.threshold
    noise = made.scores(candidates(pictures(200), np.arange(200) % 10)) >= made.threshold
    assert real.mean() > 0.85
    assert noise.mean() < 0.2
