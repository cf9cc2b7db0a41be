"""Strategies by name: our own, and those of other packages through the entry point group `diffgan.strategies`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from diffgan.errors import UsageError
from diffgan.search.strategies.protocol import Strategy, StrategyFactory, StrategySetup
from diffgan.search.strategies.settings import read_strategy_settings

_GROUP = "diffgan.strategies"


@dataclass(frozen=True)
class _Ours:
    """Where a strategy and its settings are, and what a run has to bring for it."""

    module: str
    attribute: str
    settings: str
    needs_generator: bool = True
    needs_discriminator: bool = False
    asks_recogniser: bool = False


_NSGA2, _DRFUZZ = "nsga2_settings.Nsga2Settings", "drfuzz_settings.DrfuzzSettings"

#: A name of ours cannot be taken over, or figures would not be comparable.
_OURS = {
    "nsga2": _Ours("nsga2", "build_nsga2", _NSGA2, asks_recogniser=True),
    "diffgan-paper": _Ours("paper", "build_paper", _NSGA2),
    "random": _Ours("random", "build_random", "random.RandomSettings"),
    "divergence-only": _Ours("single", "build_divergence_only", _NSGA2, asks_recogniser=True),
    "diversity-only": _Ours("single", "build_diversity_only", _NSGA2, asks_recogniser=True),
    "drfuzz": _Ours("drfuzz", "build_drfuzz", _DRFUZZ, needs_generator=False, needs_discriminator=True),
    "drfuzz-free": _Ours("drfuzz", "build_drfuzz_free", _DRFUZZ, needs_generator=False),
    "dflare": _Ours("dflare", "build_dflare", "dflare_settings.DflareSettings", needs_generator=False),
    "diffchaser": _Ours(
        "diffchaser", "build_diffchaser", "diffchaser_settings.DiffchaserSettings", needs_generator=False
    ),
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


def check_settings(name: str, given: Mapping[str, Any]) -> None:
    """Whether it takes these settings, before anything long starts; another package's says so when it is built.

    Raises:
        UsageError: a key or a value does not fit.
    """
    if name in _OURS:
        module, attribute = _OURS[name].settings.split(".")
        model = getattr(import_module(f"diffgan.search.strategies.{module}"), attribute)
        read_strategy_settings(model, given, name)


def needs_generator(name: str) -> bool:
    """Whether the strategy of that name cannot do without a generator; another package's can where its factory says so.

    Raises:
        UsageError: there is none of that name.
    """
    if name in _OURS:
        return _OURS[name].needs_generator
    return bool(getattr(_factory(name), "needs_generator", True))


def needs_discriminator(name: str) -> bool:
    """Whether it asks a discriminator; another package's does where its factory says so.

    Raises:
        UsageError: there is none of that name.
    """
    if name in _OURS:
        return _OURS[name].needs_discriminator
    return bool(getattr(_factory(name), "needs_discriminator", False))


def asks_recogniser(name: str) -> bool:
    """Whether it wants to know what looks valid, where that can be known; another package's, where its factory says so.

    Raises:
        UsageError: there is none of that name.
    """
    if name in _OURS:
        return _OURS[name].asks_recogniser
    return bool(getattr(_factory(name), "asks_recogniser", False))


def package_of(name: str) -> str | None:
    """The package of a strategy that is none of ours, and its version."""
    entry = None if name in _OURS else _others().get(name)
    return None if entry is None or entry.dist is None else f"{entry.dist.name} {entry.dist.version}"


def _factory(name: str) -> StrategyFactory:
    if name in _OURS:
        place = _OURS[name]
        module = import_module(f"diffgan.search.strategies.{place.module}")
        ours: StrategyFactory = getattr(module, place.attribute)
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
