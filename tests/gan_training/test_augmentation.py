"""The five transformations: what they do to known images, per image, seeded, and that they keep the label."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from diffgan import configs
from diffgan.datasets import load_dataset
from diffgan.gan_training.augmentation import (
    COPIES,
    TRANSFORMATIONS,
    AugmentationSettings,
    Augmenter,
    Blur,
    Brightness,
    Rotation,
    Shear,
    Shift,
)
from diffgan.models import load_classifier


def settings_of(name: str) -> AugmentationSettings:
    return AugmentationSettings.model_validate(configs.read(name)["augmentation"])


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def spot(side: int = 9, row: int = 4, column: int = 6) -> torch.Tensor:
    image = torch.zeros(1, 1, side, side)
    image[0, 0, row, column] = 1
    return image


def test_every_dataset_has_its_ranges() -> None:
    for name in ("digits", "mnist", "mnist5k", "fashion-mnist", "cifar10", "svhn"):
        settings_of(name)


def test_a_shift_moves_by_pixels() -> None:
    shift = Shift(AugmentationSettings(fill=0), generator())
    matrices = torch.tensor([[[1.0, 0, 2 * 2 / 9], [0, 1, 0]]])
    moved = shift.apply_each(spot(), {"matrices": matrices})
    # The grid looks two pixels to the right, so the spot moves two to the left.
    assert moved[0, 0, 4, 4] == pytest.approx(1, abs=1e-5)
    assert moved.sum() == pytest.approx(1, abs=1e-5)


def test_a_quarter_turn_is_a_quarter_turn() -> None:
    rotation = Rotation(AugmentationSettings(fill=0), generator())
    quarter = torch.tensor([[[0.0, -1, 0], [1, 0, 0]]])
    assert rotation.apply_each(spot(), {"matrices": quarter})[0, 0].argmax().item() == 2 * 9 + 4
    wide = torch.zeros(1, 1, 9, 17)
    wide[0, 0, 4, 10] = 1
    assert rotation.apply_each(wide, {"matrices": quarter})[0, 0].argmax().item() == 2 * 17 + 8


def test_brightness_clips_at_white() -> None:
    brightness = Brightness(AugmentationSettings(), generator())
    images = torch.tensor([0.0, 0.5, 0.9]).reshape(1, 1, 1, 3)
    assert torch.allclose(
        brightness.apply_each(images, {"factors": torch.tensor([1.2])}).ravel(), torch.tensor([0.0, 0.6, 1.0])
    )


def test_blur_is_gaussian_and_keeps_a_flat_image_flat() -> None:
    blur = Blur(AugmentationSettings(), generator())
    blurred = blur.apply_each(spot(15, 7, 7), {"sigmas": torch.tensor([1.0])})[0, 0]
    # exp(-1/2) for a neighbour, exp(-1) for a diagonal one.
    assert blurred[7, 8] / blurred[7, 7] == pytest.approx(np.exp(-0.5), abs=1e-4)
    assert blurred[8, 8] / blurred[7, 7] == pytest.approx(np.exp(-1), abs=1e-4)
    flat = torch.full((1, 3, 6, 6), 0.4)
    assert torch.allclose(blur.apply_each(flat, {"sigmas": torch.tensor([0.7])}), flat, atol=1e-6)


@pytest.mark.parametrize("kind", [Rotation, Shift, Shear])
@pytest.mark.parametrize(("fill", "level"), [(0.0, 0.0), (0.3, 0.3), ("edge", 0.7)])
def test_what_a_warp_uncovers_is_background(kind: type, fill: float | str, level: float) -> None:
    settings = AugmentationSettings(rotation=45, shift=0.4, shear=45, fill=fill)
    images = torch.full((50, 1, 8, 8), level)
    assert torch.allclose(kind(settings, generator())(images), images, atol=1e-5)


@pytest.mark.parametrize("kind", TRANSFORMATIONS)
def test_parameters_are_drawn_for_each_image(kind: type) -> None:
    image = torch.from_numpy(load_dataset("digits").floats()[:1])
    changed = kind(settings_of("digits"), generator())(image.repeat(20, 1, 1, 1))
    # By a tenth of 8 pixels, rounded: by one or none, in two directions.
    assert len({one.numpy().tobytes() for one in changed}) >= (5 if kind is Shift else 20)


def test_shifts_are_by_whole_pixels() -> None:
    images = torch.rand(200, 1, 9, 9, generator=generator())
    moved = Shift(AugmentationSettings(shift=0.3, fill=0), generator())(images)
    values = [set(image.ravel().tolist()) | {0.0} for image in images]
    assert all(
        all(min(abs(value - known) for known in values[row]) < 1e-5 for value in moved[row].ravel().tolist())
        for row in range(5)
    )
    # No farther than 0.3 of 9 pixels: three rows or columns from the far side are gone at most.
    assert all((moved[row] == 0).all(dim=2).sum() <= 3 for row in range(200))


def test_warps_keep_thin_strokes_bright() -> None:
    line = torch.zeros(1, 1, 28, 28)
    line[..., 14:16] = 1
    turned = Rotation(settings_of("mnist"), generator())(line.repeat(50, 1, 1, 1))
    assert turned.amax(dim=(1, 2, 3)).min() > 0.95


@given(st.integers(0, 2**31), st.sampled_from(TRANSFORMATIONS), st.sampled_from([1, 3]))
def test_values_stay_in_range_and_finite(seed: int, kind: type, channels: int) -> None:
    images = torch.rand(4, channels, 8, 8, generator=generator(seed))
    changed = kind(settings_of("cifar10"), generator(seed))(images)
    assert changed.shape == images.shape
    assert torch.isfinite(changed).all()
    assert changed.min() >= 0
    assert changed.max() <= 1 + 1e-6


def test_a_seed_gives_the_same_images_and_leaves_torchs_own_state() -> None:
    images = torch.rand(12, 1, 8, 8, generator=generator())
    numbers = torch.arange(12) % COPIES
    state = torch.get_rng_state()
    first = Augmenter(settings_of("digits"), generator(7))(images, numbers)
    again = Augmenter(settings_of("digits"), generator(7))(images, numbers)
    other = Augmenter(settings_of("digits"), generator(8))(images, numbers)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert torch.equal(torch.get_rng_state(), state)


def test_number_zero_is_the_original() -> None:
    images = torch.rand(6, 1, 8, 8, generator=generator())
    changed = Augmenter(settings_of("digits"), generator())(images, torch.tensor([0, 1, 2, 3, 4, 5]))
    assert torch.equal(changed[0], images[0])
    assert all(not torch.equal(changed[row], images[row]) for row in range(1, 6))


def test_a_good_classifier_keeps_its_accuracy(testbed: Path) -> None:
    data = load_dataset(testbed / "data" / "mnist_test.npz")
    model = load_classifier(testbed / "models" / "mnist_m2.onnx", spec=data.spec)
    images = torch.from_numpy(data.floats()[:2000])
    for number, kind in enumerate(TRANSFORMATIONS, start=1):
        changed = Augmenter(settings_of("mnist"), generator())(images, torch.full((2000,), number))
        accuracy = (model.predict(changed.numpy()).argmax(axis=1) == data.labels[:2000]).mean()
        # The model has 99.3 % on these 2,000 as they are.
        assert accuracy > 0.97, kind.__name__


@pytest.mark.parametrize(
    "wrong", [{"rotation": -1}, {"shift": 0.6}, {"brightness": (1.2, 0.8)}, {"blur": (0, 1)}, {"fill": 2}, {"spin": 1}]
)
def test_ranges_that_make_no_sense_are_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        AugmentationSettings.model_validate(wrong)
