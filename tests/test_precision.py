"""Networks in bfloat16, where the processor is fast at it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from torch import Tensor, nn

from diffgan import precision


@pytest.fixture
def on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[bool]:
    """The processor is said to be fast at it, or not."""
    monkeypatch.setattr(precision, "has_fast_bfloat16", lambda: request.param)
    precision.is_brisk.cache_clear()
    yield request.param
    precision.is_brisk.cache_clear()


@pytest.mark.parametrize("on", [True, False], indirect=True)
def test_it_rounds_where_that_pays_and_gives_float32_all_the_same(on: bool) -> None:
    network = nn.Linear(64, 8)
    given = torch.linspace(-1, 1, 128).reshape(2, 64)
    with torch.inference_mode():
        exact, made = network(given), precision.brisk(network)(given)
    assert made.dtype == torch.float32
    assert torch.equal(made, exact) != on
    torch.testing.assert_close(made, exact, rtol=0.02, atol=0.02)


@pytest.mark.parametrize("on", [True], indirect=True)
def test_what_is_given_is_handed_on(on: bool) -> None:
    assert on
    seen: list[Tensor | None] = []

    def network(*inputs: Tensor | None) -> Tensor:
        seen.extend(inputs)
        return torch.zeros(1)

    labels = torch.tensor([3])
    precision.brisk(network)(torch.zeros(1), None, labels)
    assert seen[1] is None
    assert seen[2] is labels


@pytest.mark.parametrize("on", [True, False], indirect=True)
def test_a_rounded_copy_leaves_the_network_as_it_was(on: bool) -> None:
    network = nn.Sequential(nn.ReLU(), nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 3))
    given = torch.linspace(-1, 1, 128).reshape(2, 1, 8, 8)
    before = given.clone()
    with torch.inference_mode():
        exact, made = network(given), precision.rounded(network)(given)
    assert made.dtype == torch.float32
    assert torch.equal(made, exact) != on
    torch.testing.assert_close(made, exact, rtol=0.02, atol=0.02)
    assert torch.equal(given, before)
    assert {weights.dtype for weights in network.parameters()} == {torch.float32}
