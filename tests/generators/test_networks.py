"""Networks: every size, classes, and the folded normalisation."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError

from diffgan.generators.architecture import Architecture
from diffgan.generators.artifact import seeded_networks
from diffgan.generators.cbn import ClassBatchNorm
from diffgan.generators.thin import DoublingConvolution, ThinConvolution


@pytest.mark.parametrize("side", [8, 9, 13, 16, 28, 31, 32, 48, 64])
@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("classes", [None, 4])
@pytest.mark.parametrize("kind", ["dcgan", "mlp"])
def test_every_size_fits(side: int, channels: int, classes: int | None, kind: str) -> None:
    architecture = Architecture(
        kind=kind,
        latent=6,
        image=(channels, side, side),
        classes=classes,
        width=4,
    )
    generator, discriminator = seeded_networks(architecture, seed=0)
    labels = None if classes is None else torch.tensor([0, 3])
    images = generator(torch.rand(2, 6), labels)
    assert images.shape == (2, channels, side, side)
    assert images.min() >= 0
    assert images.max() <= 1
    assert discriminator(images, labels).shape == (2,)


@pytest.mark.parametrize("side", [8, 9, 28, 31, 64])
@pytest.mark.parametrize("patch", [2, 4])
def test_patches_fill_the_image(side: int, patch: int) -> None:
    if side < 16 and patch == 4:
        with pytest.raises(ValidationError, match="patch must be at most 2"):
            Architecture(image=(3, side, side), patch=patch)
        return
    generator, _ = seeded_networks(Architecture(image=(3, side, side), width=4, patch=patch, latent=6), seed=0)
    images = generator(torch.rand(2, 6))
    assert images.shape == (2, 3, side, side)
    assert len(images[0].unique()) > side * side


@pytest.mark.parametrize(("side", "first", "doublings"), [(8, 4, 1), (9, 5, 1), (28, 7, 2), (32, 4, 3), (64, 4, 4)])
def test_the_first_map_has_four_to_seven_pixels(side: int, first: int, doublings: int) -> None:
    architecture = Architecture(image=(1, side, side))
    assert (architecture.first_side, architecture.doublings) == (first, doublings)


@pytest.mark.parametrize(
    ("image", "message"),
    [((1, 7, 7), "sides of 8 to 64"), ((1, 65, 65), "sides"), ((1, 8, 9), "square"), ((2, 8, 8), "1 or 3")],
)
def test_images_that_no_network_fits_are_refused(image: tuple[int, int, int], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        Architecture(image=image)


@pytest.mark.parametrize("kind", ["dcgan", "mlp"])
def test_without_a_label_the_score_is_the_greatest_over_classes(kind: str) -> None:
    architecture = Architecture(kind=kind, latent=6, image=(1, 8, 8), classes=3, width=4)
    _, discriminator = seeded_networks(architecture, seed=1)
    discriminator.eval()
    images = torch.rand(5, 1, 8, 8)
    each = torch.stack([discriminator(images, torch.full((5,), label)) for label in range(3)])
    assert torch.allclose(discriminator(images), each.amax(dim=0), atol=1e-5)


def test_the_folded_normalisation_is_the_plain_one() -> None:
    norm = ClassBatchNorm(3, 2)
    for _ in range(5):
        norm(torch.randn(8, 3, 4, 4) * 3 + 1, torch.randint(2, (8,)))
    with torch.no_grad():
        norm.scale.copy_(torch.rand(2, 3) + 0.5)
        norm.shift.copy_(torch.rand(2, 3))
    norm.eval()
    hidden, labels = torch.randn(4, 3, 2, 2), torch.tensor([0, 1, 1, 0])
    plain = norm.normalise(hidden) * norm.scale[labels][:, :, None, None] + norm.shift[labels][:, :, None, None]
    assert torch.allclose(norm(hidden, labels), plain, atol=1e-5)
    beside = hidden.contiguous(memory_format=torch.channels_last)
    assert torch.allclose(norm(beside, labels), plain, atol=1e-5)
    assert torch.allclose(norm(beside, None), norm(hidden, torch.zeros(4, dtype=torch.int64)), atol=1e-5)
    for rounded in (hidden.bfloat16(), beside.bfloat16()):
        assert norm(rounded, labels).dtype is torch.bfloat16
        assert torch.allclose(norm(rounded, labels).float(), plain, atol=0.05)


def test_seeded_networks_leave_torchs_own_state() -> None:
    state = torch.get_rng_state()
    one, two = (seeded_networks(Architecture(image=(1, 8, 8)), seed=5)[0].state_dict() for _ in range(2))
    assert all(torch.equal(one[name], two[name]) for name in one)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("sides", [(7, 6), (8, 6), (8, 12)])
@pytest.mark.parametrize("outputs", [1, 3, 4, 16])
def test_the_thin_convolution_is_the_plain_one(outputs: int, sides: tuple[int, int]) -> None:
    thin = ThinConvolution(5, outputs)
    hidden = torch.randn(3, 5, *sides)
    expected = torch.nn.functional.conv2d(hidden, thin.weight, thin.bias, padding=1)
    assert torch.allclose(thin.train()(hidden), expected, atol=1e-5)
    assert torch.allclose(thin.eval()(hidden), expected, atol=1e-5)
    assert torch.allclose(thin(hidden.contiguous(memory_format=torch.channels_last)), expected, atol=1e-5)


@pytest.mark.parametrize("sides", [(1, 1), (7, 6), (3, 8)])
@pytest.mark.parametrize("outputs", [1, 4, 48])
def test_the_doubling_convolution_is_the_plain_one(outputs: int, sides: tuple[int, int]) -> None:
    doubling = DoublingConvolution(5, outputs)
    hidden = torch.randn(3, 5, *sides)
    expected = torch.nn.functional.conv_transpose2d(hidden, doubling.weight, stride=2, padding=1)
    assert torch.allclose(doubling.train()(hidden), expected, atol=1e-5)
    assert torch.allclose(doubling.eval()(hidden), expected, atol=1e-5)
    rounded = doubling.to(torch.bfloat16)(hidden.to(torch.bfloat16))
    assert rounded.dtype is torch.bfloat16
    assert torch.allclose(rounded.float(), expected, atol=0.05)
