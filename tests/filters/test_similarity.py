"""The most similar reference is found, whatever the shortlist that leads to it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diffgan.datasets import load_dataset
from diffgan.errors import DataError, UsageError
from diffgan.filters.protocol import Candidates
from diffgan.filters.similarity import MostSimilar, SsimFilter
from diffgan.filters.ssim import Floats, ssim
from diffgan.generators.generator import load_generator
from diffgan.images import ByteImages

GENERATORS = ("conditional100", "dcgan100", "mlp64", "reference100")


def by_all_pairs(images: ByteImages, references: ByteImages) -> Floats:
    return np.array([ssim(image[None], references).max() for image in images])


def samples(testbed: Path, each: int) -> ByteImages:
    """Of the test bed's four generators: good digits, bad ones, and blots."""
    rng = np.random.default_rng(3)
    sources = [load_generator(testbed / "generators" / f"mnist_{name}.pt") for name in GENERATORS]
    return np.concatenate([source.sample(each, rng)[0] for source in sources])


def candidates(images: ByteImages) -> Candidates:
    count = len(images)
    return Candidates(ids=np.arange(count), images=images, classes=None, divergence=np.zeros(count))


def check_found(images: ByteImages, references: ByteImages) -> None:
    """At least 99 % find the most similar, and at most one of 500 gets another verdict."""
    found = MostSimilar(references).find(images)
    truth = by_all_pairs(images, references)
    assert ssim(references[found.places], images) == pytest.approx(found.scores, abs=1e-6)
    assert np.all(found.scores <= truth)
    assert np.mean(truth - found.scores > 1e-5) <= 0.01
    assert np.sum((truth >= 0.4) != (found.scores >= 0.4)) <= len(images) / 500


def test_digits_are_found_among_digits() -> None:
    images = load_dataset("digits").images
    noisy = np.clip(images[:300] + np.random.default_rng(0).normal(0, 40, images[:300].shape), 0, 255)
    check_found(np.concatenate([images[:200], noisy.astype(np.uint8)]), images[200:])


def test_generated_digits_are_found_among_real_ones(testbed: Path) -> None:
    check_found(samples(testbed, 40), load_dataset(testbed / "data" / "mnist_test.npz").images)


@pytest.mark.slow
def test_generated_digits_are_found_among_60000(testbed: Path) -> None:
    check_found(samples(testbed, 125), load_dataset(testbed / "data" / "mnist_train.npz").images)


def test_colour_images_are_found(testbed: Path) -> None:
    images = load_dataset(testbed / "data" / "cifar10_test.npz").images
    blends = (images[:60].astype(np.uint16) + images[60:120]) // 2
    check_found(np.concatenate([images[120:160], blends.astype(np.uint8)]), images[160:3000])


def test_noise_makes_the_shortlist_longer(testbed: Path) -> None:
    """What the list is made by says little of noise: with 256 candidates alone, 7 of these 24 go astray."""
    images = np.clip(np.random.default_rng(2).normal(0, 40, (24, 28, 28, 1)), 0, 255).astype(np.uint8)
    references = load_dataset(testbed / "data" / "mnist_test.npz").images
    found = MostSimilar(references).find(images)
    assert np.sum(by_all_pairs(images, references) - found.scores > 1e-5) <= 2


def test_flat_images_are_compared_with_all() -> None:
    references = load_dataset("digits").images
    flat = np.zeros((6, 8, 8, 1), dtype=np.uint8) + np.array([0, 1, 5, 30, 128, 255], np.uint8)[:, None, None, None]
    found = MostSimilar(references).find(flat)
    assert np.array_equal(found.scores, by_all_pairs(flat, references))


def test_a_reference_finds_itself_or_its_copy() -> None:
    images = load_dataset("digits").images
    references = np.concatenate([images, images, np.zeros((600, 8, 8, 1), dtype=np.uint8)])
    found = MostSimilar(references).find(images[:100])
    assert found.scores.tolist() == [1] * 100
    assert np.array_equal(references[found.places], images[:100])


@pytest.mark.parametrize("count", [1, 5, 256, 257, 300])
def test_few_references_are_enough(count: int) -> None:
    images = load_dataset("digits").images
    found = MostSimilar(images[:count]).find(images[400:420])
    assert found.scores == pytest.approx(by_all_pairs(images[400:420], images[:count]), abs=1e-5)


def test_references_that_are_all_alike() -> None:
    images = load_dataset("digits").images
    found = MostSimilar(np.repeat(images[:1], 1000, axis=0)).find(images[:3])
    assert np.array_equal(found.scores, ssim(images[:1], images[:3]))


def test_scores_do_not_depend_on_the_page() -> None:
    images = load_dataset("digits").images
    finder = MostSimilar(images[500:])
    together = finder.find(images[:200])
    for size in (1, 7, 64, 130):
        parts = [finder.find(images[start : min(start + size, 200)]) for start in range(0, 200, size)]
        assert np.array_equal(np.concatenate([part.scores for part in parts]), together.scores)
        assert np.array_equal(np.concatenate([part.places for part in parts]), together.places)
    again = MostSimilar(images[500:]).find(images[:200])
    assert np.array_equal(again.scores, together.scores)


def test_no_triggers_are_no_scores() -> None:
    images = load_dataset("digits").images
    assert SsimFilter(images).scores(candidates(images[:0])).shape == (0,)


def test_the_filter_passes_digits_and_drops_most_noise() -> None:
    images = load_dataset("digits").images
    noise = np.random.default_rng(0).integers(0, 256, (50, 8, 8, 1), dtype=np.uint8)
    judged = SsimFilter(images[100:])
    assert judged.name == "ssim"
    assert judged.threshold == 0.40
    assert np.mean(judged.scores(candidates(images[:100])) >= judged.threshold) > 0.9
    assert np.mean(judged.scores(candidates(noise)) >= judged.threshold) < 0.2


def test_the_identity_is_that_of_the_references() -> None:
    images = load_dataset("digits").images
    changed = images.copy()
    changed[3, 2, 2] ^= 1
    assert SsimFilter(images).identity == SsimFilter(images.copy(), threshold=0.5).identity
    assert len({SsimFilter(each).identity for each in (images, changed, images[:-1])}) == 3


@pytest.mark.parametrize(
    ("score", "threshold", "text"),
    [
        (0.3111, 0.4, "the most similar real image has SSIM 0.31, below 0.40"),
        (0.3999, 0.4, "the most similar real image has SSIM 0.3999, below 0.40"),
        (-0.01, 0.385, "the most similar real image has SSIM -0.01, below 0.385"),
    ],
)
def test_the_reason_names_both_numbers(score: float, threshold: float, text: str) -> None:
    assert SsimFilter(np.zeros((1, 8, 8, 1), np.uint8), threshold=threshold).reason(score) == text


@pytest.mark.parametrize("threshold", [-1.1, 1.5, float("nan")])
def test_a_threshold_out_of_range_is_refused(threshold: float) -> None:
    with pytest.raises(UsageError, match="expected -1 to 1"):
        SsimFilter(np.zeros((1, 8, 8, 1), np.uint8), threshold=threshold)


@pytest.mark.parametrize("shape", [(2, 8, 9, 1), (2, 8, 8, 3), (0, 9, 9, 1)])
def test_triggers_of_another_size_are_refused(shape: tuple[int, ...]) -> None:
    judged = SsimFilter(load_dataset("digits").images)
    with pytest.raises(DataError, match=r"but the references 1×8×8.*--references"):
        judged.scores(candidates(np.zeros(shape, dtype=np.uint8)))


@pytest.mark.parametrize(("shape", "text"), [((0, 8, 8, 1), "no real images"), ((9, 6, 6, 1), "at least 7×7 pixels")])
def test_references_that_do_not_fit_are_refused(shape: tuple[int, ...], text: str) -> None:
    with pytest.raises(DataError, match=text):
        SsimFilter(np.zeros(shape, dtype=np.uint8))
