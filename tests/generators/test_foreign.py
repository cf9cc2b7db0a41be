"""Generators that other tools made: what tells one from another."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from diffgan.errors import GeneratorError
from diffgan.generators.generator import load_generator

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
