"""The paper's search: NSGA-II with the paper's settings and nothing besides."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from diffgan import configs
from diffgan.search.strategies.nsga2 import Nsga2
from diffgan.search.strategies.nsga2_settings import Nsga2Settings
from diffgan.search.strategies.protocol import StrategySetup
from diffgan.search.strategies.settings import read_strategy_settings

NAME = "diffgan-paper"


def paper_settings() -> Mapping[str, Any]:
    """The `search` section of configs/paper.yaml."""
    section: Mapping[str, Any] = configs.read("paper")["search"]
    return section


def build_paper(setup: StrategySetup) -> Nsga2:
    """`nsga2` under configs/paper.yaml; what the setup says goes before it."""
    return Nsga2(setup, read_strategy_settings(Nsga2Settings, {**paper_settings(), **setup.settings}, NAME), name=NAME)
