"""One objective alone: what each of the two is worth without the other."""

from __future__ import annotations

from diffgan.search.strategies.nsga2 import Nsga2
from diffgan.search.strategies.nsga2_settings import Nsga2Settings
from diffgan.search.strategies.protocol import StrategySetup
from diffgan.search.strategies.settings import read_strategy_settings


def build_divergence_only(setup: StrategySetup) -> Nsga2:
    """`nsga2` without diversity, which is not even measured."""
    return _build(setup, "divergence-only", diversity=False)


def build_diversity_only(setup: StrategySetup) -> Nsga2:
    """`nsga2` without divergence."""
    return _build(setup, "diversity-only", divergence=False)


def _build(setup: StrategySetup, name: str, *, divergence: bool = True, diversity: bool = True) -> Nsga2:
    settings = read_strategy_settings(Nsga2Settings, setup.settings, name)
    return Nsga2(setup, settings, name=name, divergence=divergence, diversity=diversity)
