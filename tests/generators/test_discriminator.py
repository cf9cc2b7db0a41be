"""The discriminator as filters use it: scores, classes, damage."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from diffgan.errors import DataError, GeneratorError
from diffgan.generators.architecture import Architecture
from diffgan.generators.artifact import seeded_networks, write_artifact
from diffgan.generators.card import Card, DataCard
from diffgan.generators.discriminator import LARGEST_CALL, Discriminator, load_discriminator
from diffgan.generators.priors import NormalPrior
from diffgan.images import ByteImages, ImageSpec, to_floats
from diffgan.precision import is_brisk

DATA = DataCard(name="x", fingerprint="f", images=300, class_names=("a", "b", "c"), held_out=(1, 2))


def written(folder: Path, kind: str = "dcgan", classes: int | None = 3) -> Path:
    architecture = Architecture.model_validate(
        {"kind": kind, "latent": 5, "image": (1, 8, 8), "classes": classes, "width": 4}
    )
    generator, discriminator = seeded_networks(architecture, seed=0)
    card = Card(diffgan="0", architecture=architecture, prior=NormalPrior(), data=DATA, training={})
    write_artifact(folder, generator=generator, discriminator=discriminator, card=card)
    return folder


#: How far rounding takes a score on processors that compute in bfloat16, and on others.
ROUNDED: dict[str, Any] = {"rtol": 0.01, "atol": 1e-3} if is_brisk() else {"rtol": 1e-5, "atol": 1e-6}


def pictures(count: int = 40) -> ByteImages:
    return np.random.default_rng(0).integers(0, 256, (count, 8, 8, 1), dtype=np.uint8)


@pytest.mark.parametrize("kind", ["dcgan", "mlp"])
def test_scores_are_the_networks(tmp_path: Path, kind: str) -> None:
    discriminator = load_discriminator(written(tmp_path / "g", kind))
    classes = np.arange(40) % 3
    with torch.inference_mode():
        expected = discriminator.network(torch.from_numpy(to_floats(pictures())), torch.from_numpy(classes))
    scores = discriminator.score(pictures(), classes)
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, expected.numpy(), **ROUNDED)


@pytest.mark.parametrize("kind", ["dcgan", "mlp"])
def test_without_classes_the_greatest_counts(tmp_path: Path, kind: str) -> None:
    discriminator = load_discriminator(written(tmp_path / "g", kind))
    each = np.stack([discriminator.score(pictures(), np.full(40, label)) for label in range(3)])
    assert np.ptp(each, axis=0).min() > 0
    np.testing.assert_allclose(discriminator.score(pictures()), each.max(axis=0), **ROUNDED)
    some = np.where(np.arange(40) % 2 == 0, -1, 1)
    mixed = np.where(some == -1, each.max(axis=0), each[1])
    np.testing.assert_allclose(discriminator.score(pictures(), some), mixed, **ROUNDED)


def test_a_network_without_classes_takes_no_notice_of_them(tmp_path: Path) -> None:
    discriminator = load_discriminator(written(tmp_path / "g", classes=None))
    assert discriminator.classes is None
    scores = discriminator.score(pictures(), np.full(40, 77))
    np.testing.assert_array_equal(scores, discriminator.score(pictures()))


def test_many_images_and_none(tmp_path: Path) -> None:
    discriminator = load_discriminator(written(tmp_path / "g"))
    many = pictures(2 * LARGEST_CALL + 3)
    single = np.concatenate([discriminator.score(image[None]) for image in many[::50]])
    np.testing.assert_allclose(discriminator.score(many)[::50], single, **ROUNDED)
    assert discriminator.score(many[:0]).shape == (0,)
    assert discriminator.score(many[:0], np.empty(0, dtype=np.int64)).shape == (0,)


def test_what_it_knows_of_itself(tmp_path: Path) -> None:
    first, second = load_discriminator(written(tmp_path / "g")), load_discriminator(written(tmp_path / "h"))
    assert (first.name, first.classes, first.spec, first.data) == ("g", 3, ImageSpec(1, 8, 8), DATA)
    assert first.fingerprint == second.fingerprint
    assert first.fingerprint != load_discriminator(written(tmp_path / "i", "mlp")).fingerprint


@pytest.mark.parametrize(
    ("images", "classes", "message"),
    [
        (np.zeros((2, 9, 8, 1), np.uint8), None, "of g takes images of 1×8×8, not 1×9×8"),
        (np.zeros((2, 8, 8, 3), np.uint8), None, "takes images of 1×8×8, not 3×8×8"),
        (np.zeros((2, 8, 8, 1), np.float32), None, "of type float32; expected uint8"),
        (np.zeros((2, 8, 8, 1), np.uint8), np.array([0, 3]), "knows classes 0 to 2, and -1 for none, not 0 to 3"),
        (np.zeros((2, 8, 8, 1), np.uint8), np.array([-2, 0]), "not -2 to 0"),
        (np.zeros((2, 8, 8, 1), np.uint8), np.array([0]), r"2 images came with classes of shape \(1,\)"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, images: np.ndarray, classes: np.ndarray | None, message: str
) -> None:
    discriminator = load_discriminator(written(tmp_path / "g"))
    with pytest.raises(DataError, match=message):
        discriminator.score(images, classes)


def test_scores_that_are_no_numbers_are_a_fault(tmp_path: Path) -> None:
    discriminator: Discriminator = load_discriminator(written(tmp_path / "g", "mlp"))
    with torch.no_grad():
        for parameter in discriminator.network.parameters():
            parameter.fill_(torch.nan)
    with pytest.raises(GeneratorError, match="gives scores that are not finite"):
        discriminator.score(pictures())


def test_a_folder_that_holds_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match="There is no discriminator"):
        load_discriminator(tmp_path / "g")
    (tmp_path / "empty").mkdir()
    with pytest.raises(GeneratorError, match=r"there is no card\.json"):
        load_discriminator(tmp_path / "empty")
    (written(tmp_path / "g") / "discriminator.safetensors").write_bytes(b"damaged")
    with pytest.raises(GeneratorError, match="is damaged"):
        load_discriminator(tmp_path / "g")
    (tmp_path / "g" / "discriminator.safetensors").unlink()
    with pytest.raises(GeneratorError, match="is missing beside its card"):
        load_discriminator(tmp_path / "g")
