"""The small world, and selectors that were trained in it once for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from diffgan.selection import networks
from diffgan.selection.training import Wanted, train_selector
from tests.selection.world import World, build


@pytest.fixture(scope="package", autouse=True)
def short_training() -> Iterator[None]:
    """Networks of 8x8 images are good enough after a tenth of the usual training."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networks, "FEWEST_SEEN", 6_000)
        yield


@pytest.fixture(scope="package")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(tmp_path_factory.mktemp("world"))


@pytest.fixture(scope="package")
def trained(world: World, tmp_path_factory: pytest.TempPathFactory, short_training: None) -> Path:
    """A selector's folder."""
    folder = tmp_path_factory.mktemp("selector") / "mimic"
    train_selector([world.run], folder, Wanted(test=[world.other]))
    return folder
