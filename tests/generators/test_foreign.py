"""Generators that other tools made: what tells one from another."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from diffgan.errors import GeneratorError
from diffgan.generators import thinning
from diffgan.generators.generator import load_generator
from diffgan.generators.thin import conv_transpose
from diffgan.precision import is_brisk

SIDECAR = "latent: 5\nprior: {name: normal}\nimage: [1, 8, 8]\n"


class Small(nn.Module):
    """Images from five numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(5, 64)

    def forward(self, latents: Tensor) -> Tensor:
        """In [0, 1]."""
        return torch.sigmoid(self.dense(latents)).reshape(-1, 1, 8, 8)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A program with its sidecar."""
    path = tmp_path / "small.pt2"
    torch.manual_seed(0)
    dynamic = ({0: torch.export.Dim("batch")},)
    torch.export.save(torch.export.export(Small(), (torch.zeros(2, 5),), dynamic_shapes=dynamic), path)
    sidecar_of(path).write_text(SIDECAR, encoding="utf-8")
    return path


def sidecar_of(path: Path) -> Path:
    return path.with_name(path.name + ".yaml")


def test_another_description_is_another_generator(program: Path) -> None:
    """A run must not be gone on with where the prior, say, was changed."""
    before = load_generator(program).fingerprint
    sidecar_of(program).write_text(SIDECAR + "# a remark\n", encoding="utf-8")
    assert load_generator(program).fingerprint == before
    sidecar_of(program).write_text(SIDECAR.replace("normal", "uniform"), encoding="utf-8")
    assert load_generator(program).fingerprint != before


@pytest.mark.parametrize("text", ["made: 2024-02-30", "latent: [" * 3000, "latent: -1"])
def test_a_mistaken_description_is_one_clear_line(program: Path, text: str) -> None:
    sidecar_of(program).write_text(text, encoding="utf-8")
    with pytest.raises(GeneratorError, match=r"small\.pt2\.yaml") as caught:
        load_generator(program)
    assert "\n" not in str(caught.value)


class Growing(nn.Module):
    """The last layer of many a generator."""

    def __init__(self) -> None:
        super().__init__()
        self.dense, self.grow = nn.Linear(5, 4 * 16), nn.ConvTranspose2d(4, 1, 4, stride=2, padding=1)

    def forward(self, latents: Tensor) -> Tensor:
        """In [0, 1]."""
        return torch.sigmoid(self.grow(self.dense(latents).reshape(-1, 4, 4, 4)))


def test_thin_layers_are_done_quicker_and_make_the_same(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = []

    def counted(*args: Any, **kwargs: Any) -> Tensor:
        done.append(args[0].dtype)
        return conv_transpose(*args, **kwargs)

    monkeypatch.setattr(thinning, "conv_transpose", counted)
    torch.manual_seed(1)
    network = Growing()
    torch.export.save(
        torch.export.export(network, (torch.zeros(2, 5),), dynamic_shapes=({0: torch.export.Dim("batch")},)), program
    )
    generator = load_generator(program)
    done.clear()
    images, latents, _ = generator.sample(6, np.random.default_rng(0))
    assert done == [torch.bfloat16 if is_brisk() else torch.float32]
    with torch.inference_mode():
        exact = (network(torch.from_numpy(latents)) * 255).round().permute(0, 2, 3, 1).numpy()
    assert np.abs(images.astype(int) - exact).max() <= (3 if is_brisk() else 1)
