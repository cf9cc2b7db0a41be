"""Who of NSGA-II's parents and children survives a generation."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.search.collapse import balanced
from diffgan.search.strategies.nsga2_settings import SMALLEST, Nsga2Settings
from diffgan.search.strategies.population import Population, first_of_each


def contenders(everybody: Population, *, drop_known: bool) -> tuple[Population, int]:
    """Who may survive, equal ones once, and how many doubles there were; everybody, where it would be too few."""
    allowed = first_of_each(everybody.fingerprint)
    doubles = int(len(allowed) - allowed.sum())
    if drop_known:
        allowed &= ~everybody.known
    return (everybody.take(np.flatnonzero(allowed)) if allowed.sum() >= SMALLEST else everybody), doubles


def survivors(everybody: Population, order: NDArray[np.int64], settings: Nsga2Settings) -> NDArray[np.int64]:
    """Who survives: the first of an order of all, the retired where others are too few, no cell beyond its quota."""
    if settings.retire:
        retired = everybody.matings[order] >= settings.retire
        order = np.concatenate([order[~retired], order[retired]])
    room = settings.population
    if settings.cell_share == 1:
        return order[:room]
    quota = max(1, round(settings.cell_share * room))
    return order[balanced(everybody.cell[order], room, quota)]
