"""Extractors: their features, their identities, and files of weights that are not what they should be."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from diffgan.errors import DiffganError, MissingExtraError, ModelError, UnsafeFileError, UsageError
from diffgan.features import learned
from diffgan.features.extractors import check_name, open_pretrained
from diffgan.features.learned import LearnedClassifier, LearningSettings, train
from diffgan.features.vgg16 import LAYERS, open_vgg16
from diffgan.models.torchscript import open_module


def images(count: int, *, side: int = 28, channels: int = 1) -> np.ndarray[Any, np.dtype[np.uint8]]:
    return np.random.default_rng(0).integers(0, 256, (count, side, side, channels), dtype=np.uint8)


def vgg_tensors(*, seed: int = 0) -> dict[str, Tensor]:
    """Random weights under torchvision's names; small, so that nothing overflows."""
    draws = torch.Generator().manual_seed(seed)
    tensors, channels, place = dict[str, Tensor](), 3, 0
    for layer in LAYERS:
        if isinstance(layer, int):
            shape = (layer, channels, 3, 3)
            tensors[f"features.{place}.weight"] = torch.randn(shape, generator=draws) * (2 / (9 * channels)) ** 0.5
            tensors[f"features.{place}.bias"] = torch.zeros(layer)
            channels, place = layer, place + 1
        place += 1
    return tensors


@pytest.fixture(scope="module")
def vgg_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("vgg") / "vgg.pth"
    torch.save(vgg_tensors(), path)
    return path


def test_vgg16_is_torchvisions(vgg_file: Path) -> None:
    from torchvision.models.vgg import cfgs, make_layers

    theirs = make_layers(cfgs["D"]).eval()
    theirs.load_state_dict({key.removeprefix("features."): value for key, value in vgg_tensors().items()})
    pictures = images(2, side=32, channels=3)
    pixels = torch.from_numpy(pictures.transpose(0, 3, 1, 2)).float() / 255
    mean, deviation = torch.tensor([0.485, 0.456, 0.406]), torch.tensor([0.229, 0.224, 0.225])
    with torch.inference_mode():
        expected = theirs[:30]((pixels - mean[:, None, None]) / deviation[:, None, None]).mean(dim=(2, 3))
    np.testing.assert_allclose(open_vgg16(vgg_file).features(pictures), expected.numpy(), rtol=1e-4, atol=1e-5)


def test_vgg16_takes_small_and_grey_images_and_any_batch(vgg_file: Path) -> None:
    extractor = open_vgg16(vgg_file)
    found = extractor.features(images(67, side=8))
    assert found.shape == (67, 512)
    np.testing.assert_allclose(extractor.features(images(67, side=8)[60:]), found[60:], rtol=1e-3, atol=1e-4)
    grey, colours = images(2), np.repeat(images(2), 3, axis=3)
    np.testing.assert_allclose(extractor.features(grey), extractor.features(colours), rtol=1e-5)
    assert extractor.features(images(0)).shape == (0, 512)


def test_vgg16s_identity_follows_its_weights(vgg_file: Path, tmp_path: Path) -> None:
    torch.save({"features": {k.removeprefix("features."): v for k, v in vgg_tensors().items()}}, tmp_path / "below.pth")
    save_file(vgg_tensors(), tmp_path / "same.safetensors")
    torch.save(vgg_tensors(seed=1), tmp_path / "other.pth")
    first = open_vgg16(vgg_file).identity
    assert first.startswith("vgg16-")
    assert open_vgg16(tmp_path / "below.pth").identity == first
    assert open_vgg16(tmp_path / "same.safetensors").identity == first
    assert open_vgg16(tmp_path / "other.pth").identity != first


def test_vgg16s_features_in_the_test_bed(testbed: Path) -> None:
    extractor = open_vgg16(testbed / "features" / "vgg16_features_lpips.pth")
    with np.load(testbed / "data" / "mnist_test.npz") as data:
        pictures, labels = data["images"][:200], data["labels"][:200]
    found = extractor.features(pictures.reshape(-1, 28, 28, 1))
    # Images of one digit lie nearer one another than others do.
    distances = np.linalg.norm(found[:, None] - found[None], axis=2)
    same = labels[:, None] == labels[None]
    assert distances[same & (distances > 0)].mean() < 0.9 * distances[~same].mean()


class Danger:
    """Something that a pickle would run."""

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return (print, ("run",))


def test_files_that_are_no_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    torch.save({"features.0.weight": Danger()}, tmp_path / "danger.pth")
    with pytest.raises(UnsafeFileError, match="could run code"):
        open_vgg16(tmp_path / "danger.pth")
    assert "run" not in capsys.readouterr().out
    (tmp_path / "text.pth").write_text("hello")
    torch.save(torch.zeros(3), tmp_path / "tensor.pth")
    torch.save({"features.0.weight": torch.zeros(3)}, tmp_path / "other.pth")
    (tmp_path / "cut.safetensors").write_bytes(b"\x00")
    for name in ("text.pth", "tensor.pth", "other.pth", "cut.safetensors", "absent.pth"):
        with pytest.raises(ModelError, match=name):
            open_vgg16(tmp_path / name)


class Flat(nn.Module):
    """As InceptionV3 in shape: the mean of what it is given, and zeros."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size

    def forward(self, pixels: Tensor) -> Tensor:
        mean = pixels.mean(dim=[2, 3])
        return torch.cat([mean, torch.zeros(mean.shape[0], self.size - 3)], dim=1)


def scripted(path: Path, size: int = 2048) -> Path:
    torch.jit.script(Flat(size)).save(str(path))  # type: ignore[no-untyped-call]
    return path


def test_inception_from_torchscript(tmp_path: Path) -> None:
    extractor = open_pretrained("inception", scripted(tmp_path / "net.pt"), open_module=open_module)
    black, white = np.zeros((1, 8, 8, 1), np.uint8), np.full((1, 8, 8, 1), 255, np.uint8)
    found = extractor.features(np.concatenate([black, white]))
    # Pixels come as (x - 128) / 128, grey as three channels.
    expected = np.array([[-1.0] * 3 + [0.0], [127 / 128] * 3 + [0.0]])
    np.testing.assert_allclose(found[:, :4], expected, atol=1e-6)
    assert found.shape == (2, 2048)
    assert extractor.identity.startswith("inception-")


def test_torchscript_that_is_no_inception(tmp_path: Path) -> None:
    for path, said in ((scripted(tmp_path / "small.pt", 100), "2048"), (tmp_path / "absent.pt", "no file")):
        with pytest.raises(ModelError, match=said):
            open_pretrained("inception", path, open_module=open_module)
    torch.save({"a": Danger()}, tmp_path / "pickle.pt")
    with pytest.raises(UnsafeFileError, match="pickle"):
        open_pretrained("inception", tmp_path / "pickle.pt", open_module=open_module)


@pytest.mark.skipif(find_spec("torch_fidelity") is not None, reason="torch-fidelity is installed")
def test_inception_without_its_package_names_it() -> None:
    with pytest.raises(MissingExtraError, match="torch-fidelity"):
        open_pretrained("inception", None, open_module=open_module)


@pytest.mark.parametrize(("name", "weights"), [("resnet", None), ("learned", Path("x.pt"))])
def test_names_that_do_not_fit(name: str, weights: Path | None) -> None:
    with pytest.raises(UsageError):
        check_name(name, weights)
    with pytest.raises(DiffganError):
        open_pretrained(name, weights, open_module=open_module)


@pytest.mark.parametrize(("side", "channels"), [(8, 1), (28, 1), (33, 3), (64, 3)])
def test_a_learned_classifier_of_any_size(side: int, channels: int) -> None:
    settings = LearningSettings(outputs=1000, channels=channels, side=side, images=5, updates=2)
    pictures = torch.rand(5, channels, side, side, generator=torch.Generator().manual_seed(0))
    state = torch.get_rng_state()
    made, again = (
        LearnedClassifier(train(settings, lambda rows, _: (pictures[rows], rows)), of_classes=True) for _ in range(2)
    )
    assert torch.equal(torch.get_rng_state(), state)
    assert made.identity == again.identity
    few = images(3, side=side, channels=channels)
    assert made.features(few).shape == (3, learned.FEATURES)
    assert made.probabilities(few).shape == (3, 1000)
    assert made.labels(few).dtype == np.int64
    assert made.labels(few[:0]).shape == (0,)
