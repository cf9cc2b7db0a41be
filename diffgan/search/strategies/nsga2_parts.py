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
        novelty=Novelty(usual_distance(setup.images, setup.seed) if distance is None else distance),
        recognises=setup.recognises if settings.recognised else None,
    )


def screen_of(setup: StrategySetup, settings: Nsga2Settings, finds: Finds | None) -> Screen | None:
    """Chooses the children that the models are shown; None where nothing has a quick look at them."""
    recogniser = setup.recognises if settings.recognised else None
    if finds is None or not isinstance(recogniser, Glances):
        return None
    # A clock's times differ from run to run: where none ends the search, they decide nothing.
    timed = setup.clock.left is not None
    return Screen(recogniser, finds.novelty, settings.screen or (None if timed else MOST))
