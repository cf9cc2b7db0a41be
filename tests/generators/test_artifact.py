"""The artifact and foreign generators: written, read, damaged, mismatched."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from diffgan.errors import GeneratorError
from diffgan.generators.architecture import Architecture
from diffgan.generators.artifact import read_discriminator, seeded_networks, write_artifact
from diffgan.generators.card import Card, DataCard
from diffgan.generators.generator import Generator, load_generator
from diffgan.generators.priors import NormalPrior, UniformPrior


def card(architecture: Architecture) -> Card:
    data = DataCard(name="x", fingerprint="f", images=300, class_names=("a", "b"), held_out=(1, 2))
    return Card(diffgan="0", architecture=architecture, prior=NormalPrior(), data=data, training={"steps": 1})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    architecture = Architecture(latent=5, image=(1, 8, 8), classes=2, width=4)
    generator, discriminator = seeded_networks(architecture, seed=0)
    write_artifact(tmp_path / "g", generator=generator, discriminator=discriminator, card=card(architecture))
    return tmp_path / "g"


def test_what_was_written_is_read(folder: Path) -> None:
    assert sorted(path.name for path in folder.iterdir()) == [
        "card.json",
        "discriminator.safetensors",
        "generator.safetensors",
    ]
    generator = load_generator(folder)
    assert (generator.latent, generator.classes, str(generator.spec), generator.data) == (5, 2, "1×8×8", "f")
    images, latents, classes = generator.sample(3000, np.random.default_rng(0))
    assert images.dtype == np.uint8
    assert images.shape == (3000, 8, 8, 1)
    assert classes is not None
    again = generator.images(latents, classes)
    assert np.array_equal(images, again)
    assert read_discriminator(folder)[1].data.held_out == (1, 2)


def test_images_are_the_networks_rounded(folder: Path) -> None:
    generator = load_generator(folder)
    latents, classes = np.zeros((2, 5), np.float32), np.array([0, 1])
    with torch.inference_mode():
        floats = generator.network(torch.from_numpy(latents), torch.from_numpy(classes))
    expected = np.rint(floats.numpy() * np.float32(255)).astype(np.uint8).transpose(0, 2, 3, 1)
    assert np.array_equal(generator.images(latents, classes), expected)


@pytest.mark.parametrize(
    ("latents", "classes", "message"),
    [
        (np.zeros((2, 4), np.float32), np.array([0, 1]), r"latents of shape \(N, 5\)"),
        (np.zeros((2, 5), np.float32), None, "given no classes, but needs them"),
        (np.zeros((2, 5), np.float32), np.array([0, 2]), "takes classes 0 to 1"),
    ],
)
def test_what_does_not_fit_is_refused(
    folder: Path, latents: np.ndarray, classes: np.ndarray | None, message: str
) -> None:
    with pytest.raises(GeneratorError, match=message):
        load_generator(folder).images(latents, classes)


def edit(folder: Path, **changes: object) -> None:
    path = folder / "card.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_a_newer_card_says_to_upgrade(folder: Path) -> None:
    edit(folder, version=99)
    with pytest.raises(GeneratorError, match="upgrade diffgan"):
        load_generator(folder)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"version": 1}', "null"])
def test_a_damaged_card_is_one_clear_line(folder: Path, content: str) -> None:
    (folder / "card.json").write_text(content)
    with pytest.raises(GeneratorError, match=r"card\.json") as caught:
        load_generator(folder)
    assert "\n" not in str(caught.value)


def test_weights_that_do_not_fit_the_card_are_refused(folder: Path) -> None:
    edit(folder, architecture={"latent": 6, "image": [1, 8, 8], "classes": 2, "width": 4})
    with pytest.raises(GeneratorError, match="does not fit the card"):
        load_generator(folder)


@pytest.mark.parametrize("keep", [0, 7, 200])
def test_damaged_weights_are_one_clear_line(folder: Path, keep: int) -> None:
    path = folder / "generator.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(GeneratorError, match="damaged"):
        load_generator(folder)


def test_a_folder_without_a_generator_says_so(tmp_path: Path) -> None:
    with pytest.raises(GeneratorError, match=r"no card\.json"):
        load_generator(tmp_path)
    with pytest.raises(GeneratorError, match="There is no generator"):
        load_generator(tmp_path / "nope")


@pytest.mark.parametrize(
    ("name", "latent", "prior", "classes"),
    [
        ("mnist_conditional100", 100, UniformPrior(), 10),
        ("mnist_dcgan100", 100, UniformPrior(), None),
        ("mnist_mlp64", 64, NormalPrior(), None),
        ("mnist_reference100", 100, NormalPrior(), None),
    ],
)
def test_foreign_generators_of_the_test_bed(
    testbed: Path, name: str, latent: int, prior: object, classes: int | None
) -> None:
    generator = load_generator(testbed / "generators" / f"{name}.pt")
    assert (generator.latent, generator.prior, generator.classes) == (latent, prior, classes)
    images, _, _ = generator.sample(200, np.random.default_rng(0))
    assert images.shape == (200, 28, 28, 1)
    # Ink on black, as MNIST has it: a wrong range would show in the mean (33 there).
    assert 20 < images.mean() < 50
    if name == "mnist_reference100":
        assert set(images.reshape(200, -1).max(axis=1).tolist()) == {255}
        assert set(images.reshape(200, -1).min(axis=1).tolist()) == {0}


def write_foreign(folder: Path, sidecar: str | None, channels: int = 1) -> Path:
    class Net(torch.nn.Module):
        def forward(self, latents: torch.Tensor) -> torch.Tensor:
            return latents.repeat(1, 16 * channels)[:, : 16 * channels]

    path = folder / "g.pt"
    torch.jit.trace(Net(), torch.rand(2, 4)).save(str(path))  # type: ignore[no-untyped-call]
    if sidecar is not None:
        (folder / "g.pt.yaml").write_text(sidecar)
    return path


GOOD = "latent: 4\nprior: {name: normal}\nimage: [1, 4, 4]\nrange: [-1, 1]\n"


def test_a_sidecars_range_is_scaled(tmp_path: Path) -> None:
    generator: Generator = load_generator(write_foreign(tmp_path, GOOD))
    images = generator.images(np.array([[-1.0, 0.0, 0.5, 1.0]], np.float32))
    assert images[0, 0, :, 0].tolist() == [0, 128, 191, 255]


class Steep(torch.nn.Module):
    """A last digit of its latents decides on each pixel."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = torch.nn.Linear(4, 16)

    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        return torch.sin(10_000 * self.lin(latents))


class Strict(Steep):
    """Fails where types are mixed."""

    def forward(self, latents: torch.Tensor) -> torch.Tensor:
        seen: torch.Tensor = self.lin(latents)
        return (0 * latents).repeat(1, 4).index_add(1, torch.arange(16), seen).clamp(-1, 1)


@pytest.mark.parametrize("network", [Steep, Strict])
def test_a_network_that_cannot_be_rounded_on_the_way_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, network: type[Steep]
) -> None:
    monkeypatch.setattr("diffgan.precision.is_brisk", lambda: True)
    module = network().eval()
    path = tmp_path / "g.pt"
    torch.jit.trace(module, torch.rand(2, 4)).save(str(path))  # type: ignore[no-untyped-call]
    (tmp_path / "g.pt.yaml").write_text(GOOD)
    latents = np.random.default_rng(0).standard_normal((20, 4), dtype=np.float32)
    with torch.inference_mode():
        floats = (module(torch.from_numpy(latents)) + 1) / 2
    expected = (floats * 255).round().to(torch.uint8).reshape(20, 4, 4, 1).numpy()
    apart = np.abs(load_generator(path).images(latents).astype(int) - expected)
    # (Traced, it may add up in another order: a level here and there.)
    assert apart.mean() < 0.5


@pytest.mark.parametrize(
    ("sidecar", "message"),
    [
        (None, "has no sidecar"),
        ("{", "cannot be read"),
        ("latent: 4\n", "does not fit"),
        (GOOD.replace("normal", "cauchy"), "does not fit"),
        (GOOD.replace("latent: 4", "latent: 4\nextra: 1"), "extra"),
        (GOOD.replace("[1, 4, 4]", "[1, 5, 5]"), "fails on latents"),
        (GOOD + "classes: 3\n", "fails on latents"),
    ],
)
def test_a_sidecar_that_does_not_fit_says_why(tmp_path: Path, sidecar: str | None, message: str) -> None:
    with pytest.raises(GeneratorError, match=message) as caught:
        load_generator(write_foreign(tmp_path, sidecar))
    assert "\n" not in str(caught.value)
