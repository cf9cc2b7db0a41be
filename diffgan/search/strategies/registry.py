"""Strategies by name: our own, and those of other packages through the entry point group `diffgan.strategies`."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from diffgan.errors import UsageError
from diffgan.search.strategies.protocol import Strategy, StrategyFactory, StrategySetup

_GROUP = "diffgan.strategies"

#: Module and attribute of ours; a name of ours cannot be taken over, or figures would not be comparable.
_OURS = {
    "nsga2": ("diffgan.search.strategies.nsga2", "build_nsga2"),
    "diffgan-paper": ("diffgan.search.strategies.paper", "build_paper"),
    "random": ("diffgan.search.strategies.random", "build_random"),
    "divergence-only": ("diffgan.search.strategies.single", "build_divergence_only"),
    "diversity-only": ("diffgan.search.strategies.single", "build_diversity_only"),
}


def strategy_names() -> list[str]:
    """Every strategy that can be asked for: ours first, then other packages', sorted."""
    return list(_OURS) + sorted(_others())


def build_strategy(name: str, setup: StrategySetup) -> Strategy:
    """The strategy of that name, ready to be asked.

    Raises:
        UsageError: there is none of that name, or it does not take the setup.
    """
    return _factory(name)(setup)


def _factory(name: str) -> StrategyFactory:
    if name in _OURS:
        module, attribute = _OURS[name]
        ours: StrategyFactory = getattr(import_module(module), attribute)
        return ours
    entry = _others().get(name)
    if entry is None:
        raise UsageError(f"There is no strategy {name!r}; there are: {', '.join(strategy_names())}.")
    try:
        theirs: StrategyFactory = entry.load()
    except Exception as error:
        raise UsageError(
            f"The strategy {name} ({entry.value}) cannot be loaded: {type(error).__name__}: {error}: "
            "repair or uninstall its package."
        ) from error
    return theirs


def _others() -> dict[str, EntryPoint]:
    return {entry.name: entry for entry in entry_points(group=_GROUP) if entry.name not in _OURS}
