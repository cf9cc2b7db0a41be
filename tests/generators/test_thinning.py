"""Networks of others, made quicker: the same images, whatever they were written in."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from diffgan.generators import thinning
from diffgan.generators.thin import conv_transpose
from diffgan.generators.thinning import thinned

#: What torch allows, and is not left to it.
KINDS = [
    (size, stride, padding, more)
    for size, stride, padding, more in product((1, 2, 3, 4, 5), (1, 2, 3), (0, 1, 2), (0, 1, 2))
    if more <= padding < size and more < stride
]


@pytest.mark.parametrize(("size", "stride", "padding", "more"), KINDS)
def test_the_transposed_convolution_is_torchs(size: int, stride: int, padding: int, more: int) -> None:
    hidden, weight, bias = torch.randn(2, 3, 5, 4), torch.randn(3, 2, size, size), torch.randn(2)
    expected = functional.conv_transpose2d(hidden, weight, bias, stride=stride, padding=padding, output_padding=more)
    made = conv_transpose(hidden, weight, bias, stride=stride, padding=padding, more=more)
    assert made.shape == expected.shape
    assert torch.allclose(made, expected, atol=1e-5)


class Small(nn.Module):
    """The last layers of many a generator."""

    def __init__(self, **last: Any) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.ConvTranspose2d(4, 16, 4, stride=2, padding=1), nn.ReLU(), nn.ConvTranspose2d(16, 2, **last), nn.Tanh()
        )

    def forward(self, hidden: Tensor) -> Tensor:
        """Images."""
        made: Tensor = self.layers(hidden)
        return made


def forms(network: nn.Module) -> dict[str, Callable[..., Tensor]]:
    shown = torch.randn(2, 4, 3, 3)
    with pytest.warns(FutureWarning):
        scripted, traced = torch.jit.script(network), torch.jit.trace(network, shown)  # type: ignore[no-untyped-call]
    return {"plain": network, "scripted": scripted, "traced": traced, "exported": _exported(network, shown)}


def _exported(network: nn.Module, shown: Tensor) -> Callable[..., Tensor]:
    module: Callable[..., Tensor] = torch.export.export(
        network, (shown,), dynamic_shapes=({0: torch.export.Dim("n", min=1, max=64)},)
    ).module()
    return module


LAST = [
    ({"kernel_size": 4, "stride": 2, "padding": 1}, 1),
    ({"kernel_size": 5, "stride": 2, "padding": 2, "output_padding": 1, "bias": False}, 1),
    ({"kernel_size": 4, "stride": 2, "padding": 1, "groups": 2}, 0),
    ({"kernel_size": 3, "stride": 2, "padding": 1, "dilation": 2}, 0),
    ({"kernel_size": (4, 2), "stride": 2}, 0),
    ({"kernel_size": 3, "padding": 1}, 0),
]


@pytest.mark.parametrize(("last", "quick"), LAST)
def test_thinned_networks_make_the_same_images(
    last: dict[str, Any], quick: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = []

    def counted(*args: Any, **kwargs: Any) -> Tensor:
        done.append(1)
        return conv_transpose(*args, **kwargs)

    monkeypatch.setattr(thinning, "conv_transpose", counted)
    network = Small(**last).eval()
    hidden = torch.randn(5, 4, 3, 3)
    with torch.inference_mode():
        for name, form in forms(network).items():
            done.clear()
            assert torch.allclose(thinned(form)(hidden), network(hidden), atol=1e-5), name
            assert len(done) == quick, name
