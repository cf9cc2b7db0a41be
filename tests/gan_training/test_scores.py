"""Scores of generators whose faults are known, and the classifier that is learned from the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import DataError, GeneratorError, UsageError
from diffgan.features.learned import LearnedClassifier
from diffgan.gan_training import learning
from diffgan.gan_training.score_card import keep_in_card
from diffgan.gan_training.scores import Scorer, Scores, learned_classifier
from diffgan.gan_training.settings import TrainingSettings, read_settings
from diffgan.gan_training.training import Training
from diffgan.generators.card import read_card
from diffgan.generators.generator import Generator
from diffgan.generators.priors import UniformPrior
from diffgan.images import ImageSpec

AUGMENTATION = read_settings(None, "digits").augmentation

Make = Callable[[Tensor, Tensor | None], Tensor]


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset("digits")


@pytest.fixture(scope="module")
def classifier(digits: Dataset) -> LearnedClassifier:
    return learned_classifier(digits, AUGMENTATION)


@pytest.fixture(scope="module")
def scorer(digits: Dataset, classifier: LearnedClassifier) -> Scorer:
    return Scorer(digits, AUGMENTATION, classifier, classifier, samples=500, repeats=2)


def generator(make: Make, *, classes: int | None = None, spec: ImageSpec | None = None) -> Generator:
    return Generator(
        name="made",
        latent=2,
        prior=UniformPrior(low=0, high=1),
        classes=classes,
        spec=spec or ImageSpec(1, 8, 8),
        fingerprint="",
        data=None,
        network=make,
    )


def copying(dataset: Dataset, rows: NDArray[np.int64]) -> Generator:
    """Gives some of the data's own images."""
    images = torch.from_numpy(dataset.floats()[rows])
    return generator(lambda latents, _: images[(latents[:, 0] * len(images)).long().clamp(max=len(images) - 1)])


def of_class(dataset: Dataset, *, turned: int) -> Generator:
    """Gives an image of the class that is asked for, or of the one so many further on."""
    images = torch.from_numpy(dataset.floats())
    members = [images[torch.from_numpy(dataset.labels == number)] for number in range(10)]

    def make(latents: Tensor, labels: Tensor | None) -> Tensor:
        assert labels is not None
        chosen = [(members[(int(label) + turned) % 10], float(place)) for label, place in zip(labels, latents[:, 0])]  # noqa: B905
        return torch.stack([among[min(int(place * len(among)), len(among) - 1)] for among, place in chosen])

    return generator(make, classes=10)


@pytest.fixture(scope="module")
def copied(scorer: Scorer, digits: Dataset) -> Scores:
    return scorer.score(copying(digits, np.arange(len(digits))))


def noise(latents: Tensor, _: Tensor | None) -> Tensor:
    return ((latents[:, :1] * torch.arange(1, 65) * 997).sin().abs() % 1).reshape(-1, 1, 8, 8)


def test_the_classifier_knows_the_data_also_when_it_is_augmented(
    digits: Dataset, classifier: LearnedClassifier, scorer: Scorer
) -> None:
    assert classifier.accuracy is not None
    assert classifier.accuracy >= 0.99
    items = np.random.default_rng((0, 3, 0)).permutation(6 * len(digits))[:500]
    augmented = scorer._augmented(0)
    assert np.mean(classifier.labels(augmented) == digits.labels[items // 6]) >= 0.98
    assert classifier.features(digits.images[:7]).shape == (7, 96)
    np.testing.assert_allclose(classifier.probabilities(digits.images[:7]).sum(axis=1), 1, rtol=1e-5)


def test_copies_of_the_data_look_good_and_are_found_out(copied: Scores) -> None:
    assert copied.surroundings.precision > 0.95
    assert copied.surroundings.coverage > 0.5
    assert (copied.pixels.samples, copied.pixels.closer, copied.features.closer) == (0, 1, 1)
    assert copied.classes is not None
    assert copied.classes.intended is None
    assert 0.05 < copied.classes.smallest <= copied.classes.largest < 0.2
    assert sum(copied.classes.shares.values()) == pytest.approx(1)


def test_noise_scores_worst(scorer: Scorer, copied: Scores) -> None:
    found = scorer.score(generator(noise))
    assert found.fid.mean > 5 * copied.fid.mean
    assert found.kid.mean > 5 * copied.kid.mean
    assert found.surroundings.precision < 0.2
    assert found.pixels.closer < 0.05


def test_a_single_class_is_found_out(scorer: Scorer, digits: Dataset, copied: Scores) -> None:
    found = scorer.score(copying(digits, np.flatnonzero(digits.labels == 3)))
    assert found.classes is not None
    assert found.classes.largest > 0.95
    assert found.classes.smallest == 0
    assert found.surroundings.coverage < copied.surroundings.coverage / 2
    assert found.fid.mean > 3 * copied.fid.mean


@pytest.mark.parametrize(("turned", "share"), [(0, 1.0), (1, 0.0)])
def test_intended_labels_are_held_against_the_classifiers(
    scorer: Scorer, digits: Dataset, turned: int, share: float
) -> None:
    found = scorer.score(of_class(digits, turned=turned)).classes
    assert found is not None
    assert found.intended == pytest.approx(share, abs=0.02)
    assert found.intended_by_class is not None
    assert found.intended_by_class["4"] == pytest.approx(share, abs=0.1)


def test_classes_that_are_not_the_datas_are_not_compared(scorer: Scorer, digits: Dataset) -> None:
    images = torch.from_numpy(digits.floats())
    few = generator(lambda latents, _: images[(latents[:, 0] * 1000).long()], classes=3)
    found = scorer.score(few).classes
    assert found is not None
    assert found.intended is None
    assert found.intended_by_class is None


def test_the_same_seed_gives_the_same_scores(
    digits: Dataset, classifier: LearnedClassifier, scorer: Scorer, copied: Scores
) -> None:
    made = copying(digits, np.arange(len(digits)))
    state = torch.get_rng_state()
    assert Scorer(digits, AUGMENTATION, classifier, classifier, samples=500, repeats=2).score(made) == copied
    assert torch.equal(torch.get_rng_state(), state)
    other = Scorer(digits, AUGMENTATION, classifier, classifier, samples=500, repeats=2, seed=1)
    assert other.score(made).fid != copied.fid
    assert Scores.model_validate(copied.as_json()) == copied


def test_a_quick_look_gives_the_first_repeats_fid(
    digits: Dataset, classifier: LearnedClassifier, scorer: Scorer
) -> None:
    made = generator(noise)
    once = Scorer(digits, AUGMENTATION, classifier, classifier, samples=500, repeats=1)
    fid, kid = once.quick(made)
    assert fid == once.score(made).fid.mean == scorer.quick(made)[0]
    assert kid == pytest.approx(once.score(made).kid.mean, rel=0.05)
    assert once.score(made).fid.low is None


def test_more_samples_than_the_augmented_data_has(digits: Dataset, classifier: LearnedClassifier) -> None:
    few = digits.part("few", np.arange(20))
    drawn = Scorer(few, AUGMENTATION, classifier, classifier, samples=500, repeats=1)._augmented(0)
    assert drawn.shape == (500, 8, 8, 1)
    # 120 images in a round: the plain 20 come in each of the four whole rounds, the others are all different.
    assert 350 < len(np.unique(drawn.reshape(500, -1), axis=0)) < 450


def test_progress_reaches_its_end(scorer: Scorer) -> None:
    seen: list[tuple[int, int]] = []
    scorer.score(generator(noise), report=lambda done, whole: seen.append((done, whole)))
    assert [done for done, _ in seen] == sorted({done for done, _ in seen})
    assert seen[-1][0] == seen[-1][1]


def test_what_cannot_be_scored_is_refused(digits: Dataset, classifier: LearnedClassifier, scorer: Scorer) -> None:
    with pytest.raises(GeneratorError, match="1×9×8"):
        scorer.score(generator(noise, spec=ImageSpec(1, 9, 8)))
    with pytest.raises(GeneratorError, match="NaN"):
        scorer.quick(generator(lambda latents, labels: noise(latents, labels) * torch.nan))
    with pytest.raises(UsageError, match="5 samples"):
        Scorer(digits, AUGMENTATION, classifier, classifier, samples=5)
    with pytest.raises(UsageError, match="0 repeats"):
        Scorer(digits, AUGMENTATION, classifier, classifier, repeats=0)
    with pytest.raises(DataError, match="has 3 images"):
        Scorer(digits.part("three", np.arange(3)), AUGMENTATION, classifier, classifier)


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trainings of a few updates."""
    monkeypatch.setattr(learning, "FEWEST_SEEN", 640)
    monkeypatch.setattr(learning, "TIMES", 0)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DIFFGAN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "learned"


def learned(dataset: Dataset, **options: int) -> tuple[str, int]:
    """The identity, and how many updates it took."""
    updates: list[int] = []
    made = learned_classifier(dataset, AUGMENTATION, report=lambda done, _: updates.append(done), **options)
    return made.identity, len(updates)


@pytest.mark.usefixtures("short")
def test_a_classifier_is_trained_once(digits: Dataset, cache: Path) -> None:
    state = torch.get_rng_state()
    first, updates = learned(digits)
    assert updates == 10
    assert learned(digits) == (first, 0)
    assert torch.equal(torch.get_rng_state(), state)
    assert learned(digits, seed=1)[0] != first
    assert learned(digits.part("part", np.arange(1000)))[1] == 10
    assert len(list(cache.iterdir())) == 3


@pytest.mark.usefixtures("short")
@pytest.mark.parametrize("damage", [b"", b"not what it was", None])
def test_a_damaged_one_is_trained_anew(digits: Dataset, cache: Path, damage: bytes | None) -> None:
    first = learned(digits)
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[:-100] if damage is None else damage)
    assert learned(digits) == first
    assert learned(digits) == (first[0], 0)


@pytest.mark.usefixtures("short", "cache")
def test_a_cache_that_cannot_be_written_is_no_failure(
    digits: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = learned(digits)
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("DIFFGAN_CACHE", str(tmp_path / "file"))
    assert learned(digits) == first


@pytest.mark.usefixtures("short", "cache")
def test_a_single_class_is_scored_without_class_figures(digits: Dataset) -> None:
    alike = replace(digits.part("ones", np.flatnonzero(digits.labels == 1)))
    made = learned_classifier(alike, AUGMENTATION)
    assert not made.of_classes
    scores = Scorer(alike, AUGMENTATION, made, made, samples=50, repeats=1).score(generator(noise))
    assert scores.classes is None
    assert scores.surroundings.precision < 0.5


@pytest.mark.usefixtures("short", "cache")
def test_one_image_of_each_class(digits: Dataset) -> None:
    rows = np.array([np.flatnonzero(digits.labels == number)[0] for number in range(10)])
    few = digits.part("ten", rows)
    made = learned_classifier(few, AUGMENTATION)
    scores = Scorer(few, AUGMENTATION, made, made, samples=20, repeats=1).score(copying(few, np.arange(10)))
    assert scores.pixels.samples == 0


def test_scores_are_kept_in_the_card(digits: Dataset, copied: Scores, tmp_path: Path) -> None:
    Training(digits, TrainingSettings(steps=2, width=4, discriminator_width=4), tmp_path / "g").run()
    keep_in_card(tmp_path / "g", copied)
    keep_in_card(tmp_path / "g", copied.model_copy(update={"extractor": "vgg16-0"}))
    kept = read_card(tmp_path / "g").scores
    assert sorted(kept) == ["learned", "vgg16"]
    assert Scores.model_validate(kept["learned"]) == copied
    assert sorted(file.name for file in (tmp_path / "g").glob("*card*")) == ["card.json"]
