"""Strategies: what image to try next. See docs/strategies.md."""

from diffgan.search.strategies.protocol import Batch, Strategy, StrategyFactory, StrategySetup
from diffgan.search.strategies.registry import build_strategy, strategy_names

__all__ = ["Batch", "Strategy", "StrategyFactory", "StrategySetup", "build_strategy", "strategy_names"]
