"""The parts that NSGA-II is put together from, by its setup and settings."""

from __future__ import annotations

from diffgan.search.diversity import Diversity
from diffgan.search.novelty import Novelty
from diffgan.search.refits import Refits
from diffgan.search.screen import MOST, Glances, Screen
from diffgan.search.strategies.finds import Finds
from diffgan.search.strategies.nsga2_settings import Nsga2Settings
from diffgan.search.strategies.protocol import StrategySetup
from diffgan.search.thumbnails import usual_distance

#: Images of the first batches, and how many times that of a batch have to be known before it doubles.
_FIRST, _KNOWN = 64, 8
#: The most children that are made for each one of a small batch.
_MADE = 16


def batch_after(evaluations: int, most: int) -> int:
    """Images of the next batch of a search that finds lead: few at first, since each batch learns from those before.

    Example:
        >>> [batch_after(count, 512) for count in (0, 1023, 1024, 4096, 100_000)]
        [64, 64, 128, 512, 512]
    """
    count = _FIRST
    while count < most and 2 * count * _KNOWN <= evaluations:
        count *= 2
    return min(count, most)


def made_after(evaluations: int, count: int, whole: int, screen: Screen | None, settings: Nsga2Settings) -> int:
    """Children to make for each of so many that are shown: a small first batch is chosen from a whole one."""
    if screen is None or not screen.asks:
        return 1
    if settings.screen is not None or batch_after(evaluations, whole) == whole:
        return screen.times
    return max(screen.times, min(_MADE, whole // count))


def diversity_of(setup: StrategySetup, settings: Nsga2Settings, refits: Refits | None) -> Diversity:
    """How diverse an image is among what was found."""
    return Diversity(
        setup.images,
        seed=setup.seed,
        settings=settings.diversity,
        refits=refits,
        recall=setup.recall,
        left=lambda: setup.clock.left,
    )


def finds_of(setup: StrategySetup, settings: Nsga2Settings, genes: int) -> Finds | None:
    """Nobody yet; None where the population alone breeds."""
    if not settings.finds:
        return None
    distance = settings.distinct
    return Finds(
        genes,
        most=settings.finds,
        cell_share=settings.cell_share,
        explore=settings.explore,
        novelty=Novelty(usual_distance(setup.images, setup.seed) if distance is None else distance),
        recognises=setup.recognises if settings.recognised else None,
    )


def screen_of(setup: StrategySetup, settings: Nsga2Settings, finds: Finds | None) -> Screen | None:
    """Chooses the children that the models are shown; None where nothing has a quick look at them."""
    recogniser = setup.recognises if settings.recognised else None
    if finds is None or not isinstance(recogniser, Glances):
        return None
    # A clock's times differ from run to run: where a count may end the search, they decide nothing.
    timed = setup.clock.left is not None and not setup.counted
    times = settings.screen or (None if timed else MOST)
    return Screen(recogniser, finds.novelty, times, cell_share=settings.cell_share)
