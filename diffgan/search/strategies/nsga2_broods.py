"""How finds, and the population where they are few, have children."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.search.strategies.breeding import Brood, Genome, breed
from diffgan.search.strategies.finds import Finds
from diffgan.search.strategies.nsga2_settings import Nsga2Settings
from diffgan.search.strategies.population import Population
from diffgan.search.strategies.survival import tournament


@dataclass(frozen=True, eq=False)
class Given:
    """What all who breed are given: weights of the objectives, randomness, the genome and the settings."""

    weights: NDArray[np.float64]
    rng: np.random.Generator
    genome: Genome
    settings: Nsga2Settings


def bred_by_finds(finds: Finds, count: int, given: Given) -> Brood:
    """So many children, each of the class of its first parent, or of any, the more often the more the finds explore."""
    first, second = finds.parents(count, weights=given.weights, rng=given.rng)
    return breed(
        finds.members,
        first,
        second,
        given.rng,
        genome=given.genome,
        settings=given.settings,
        siblings=False,
        class_rate=given.settings.class_rate(finds.exploring),
    )


def bred_by_population(
    parents: Population, crowding: NDArray[np.float64], count: int, given: Given
) -> tuple[Brood, Population]:
    """So many children of tournaments, as NSGA-II has them; and the parents, who have been that once more."""
    pairs = -(-count // 2)
    rows = tournament(parents.objectives * given.weights, crowding, 2 * pairs, given.rng)
    first, second = rows[:pairs], rows[pairs:]
    bred = breed(parents, first, second, given.rng, genome=given.genome, settings=given.settings)
    return bred.first(count), parents.mated(rows)
