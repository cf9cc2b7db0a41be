"""Every strategy that comes with diffgan passes the tests that it hands to others."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.diversity import DiversitySettings
from diffgan.search.strategies import Strategy, StrategyFactory, StrategySetup, build_strategy
from diffgan.search.strategies.nsga2 import Nsga2
from diffgan.search.strategies.nsga2_settings import Nsga2Settings
from diffgan.testing.strategies import FirstImages, StrategyConformance, small_setup

#: Small generations, that end within a batch and within a few; refits soon, in this process.
_QUICK: Mapping[str, Any] = {"population": 24, "diversity": {"first": 10_000}}
_CASES: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "random": ("random", {}),
    "nsga2": ("nsga2", _QUICK),
    "nsga2-crowded": ("nsga2", {**_QUICK, "finds": 40, "distinct": 0.01, "reach": 1}),
    "nsga2-without-finds": ("nsga2", {**_QUICK, "finds": 0}),
    "nsga2-in-parts": ("nsga2", {**_QUICK, "population": 40, "offspring": 50, "retire": 2}),
    "divergence-only": ("divergence-only", _QUICK),
    "diversity-only": ("diversity-only", _QUICK),
    "paper": ("diffgan-paper", {**_QUICK, "diversity": {"first": 10_000, "mode": "bounded"}}),
}


def with_clusters(setup: StrategySetup) -> Strategy:
    """Clusters change every few batches, also while a generation is on its way."""
    diversity = DiversitySettings(first=5, growth=1.2, patience=1)
    return Nsga2(setup, Nsga2Settings(population=40, diversity=diversity), refits=FirstImages())


class Contrast:
    """A discriminator that takes images with much contrast for real."""

    def score(self, images: ByteImages, classes: NDArray[np.int64] | None = None, /) -> NDArray[np.float64]:
        return np.asarray(images.std(axis=(1, 2, 3)), dtype=np.float64)


class TestTheExampleOfTheDocs(StrategyConformance):
    @pytest.fixture
    def factory(self, tmp_path: Path) -> StrategyFactory:
        text = (Path(__file__).parents[2] / "docs" / "strategies.md").read_text(encoding="utf-8")
        module = tmp_path / "in_order.py"
        module.write_text(text.split("```python\n")[1].split("```")[0], encoding="utf-8")
        spec = importlib.util.spec_from_file_location("in_order", module)
        assert spec is not None
        assert spec.loader is not None
        loaded = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(loaded)
        factory: StrategyFactory = loaded.InOrder
        return factory

    def test_another_seed_gives_another_search(self, factory: StrategyFactory, setup: StrategySetup) -> None:
        """It has no use for a seed."""


class TestWithClusters(StrategyConformance):
    @pytest.fixture
    def factory(self) -> StrategyFactory:
        return with_clusters


class TestPeers(StrategyConformance):
    """On real images: without a generator; with more of them than a search of this length takes, and with fewer."""

    @pytest.fixture(params=["drfuzz", "drfuzz-free", "dflare", "diffchaser", "drfuzz-few", "dflare-few"])
    def factory(self, request: pytest.FixtureRequest) -> StrategyFactory:
        name, few = request.param.removesuffix("-few"), request.param.endswith("-few")
        settings = {"pool": 8} if few and name == "drfuzz" else {"lanes": 5, "patience": 2} if few else {}

        def build(setup: StrategySetup) -> Strategy:
            return build_strategy(name, replace(setup, settings=settings))

        return build

    @pytest.fixture(params=["few in colour", "many"])
    def setup(self, request: pytest.FixtureRequest) -> StrategySetup:
        shape = (3000, 8, 8, 1) if request.param == "many" else (40, 9, 7, 3)
        images = np.random.default_rng(5).integers(0, 256, shape, dtype=np.uint8)
        labels = np.arange(len(images), dtype=np.int64) % 4
        return small_setup(generator=None, images=images, labels=labels, discriminator=Contrast())


class TestOurs(StrategyConformance):
    @pytest.fixture(params=_CASES)
    def factory(self, request: pytest.FixtureRequest) -> StrategyFactory:
        name, settings = _CASES[request.param]

        def build(setup: StrategySetup) -> Strategy:
            return build_strategy(name, replace(setup, settings=settings))

        return build
