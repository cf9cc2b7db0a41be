"""Genes of the next images: from the prior, or from parents."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.search.strategies.nsga2_settings import Nsga2Settings
from diffgan.search.strategies.operators import crossed, mutated, mutated_classes
from diffgan.search.strategies.population import Population
from diffgan.search.strategies.protocol import NO_PARENT


@dataclass(frozen=True, eq=False)
class Brood:
    """Individuals before anybody has seen them.

    Attributes:
        points: float32, (N, genes), in the search box.
        classes: (N,), 0 where the generator takes none.
        parent: (N,), the evaluation of the first parent, or `NO_PARENT`.
    """

    points: NDArray[np.float32]
    classes: NDArray[np.int64]
    parent: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.points)

    def first(self, count: int) -> Brood:
        """Only so many."""
        return Brood(self.points[:count], self.classes[:count], self.parent[:count])

    def take(self, rows: NDArray[np.int64]) -> Brood:
        """Those rows."""
        return Brood(self.points[rows], self.classes[rows], self.parent[rows])

    def joined(self, other: Brood) -> Brood:
        """These, then the others."""
        return Brood(
            points=np.concatenate([self.points, other.points]),
            classes=np.concatenate([self.classes, other.classes]),
            parent=np.concatenate([self.parent, other.parent]),
        )


@dataclass(frozen=True)
class Genome:
    """What an individual is made of: so many genes within bounds, and a class of so many, or none."""

    genes: int
    bounds: tuple[float, float]
    classes: int | None


def fresh(count: int, genome: Genome, rng: np.random.Generator) -> Brood:
    """From the prior, which is uniform in the search box; classes uniform, too."""
    low, high = (np.float32(bound) for bound in genome.bounds)
    points = low + rng.random((count, genome.genes), dtype=np.float32) * (high - low)
    return Brood(
        # The sum may be rounded up to a value beyond the box.
        points=np.minimum(points, high),
        classes=rng.integers(0, genome.classes or 1, count),
        parent=np.full(count, NO_PARENT, dtype=np.int64),
    )


def breed(
    parents: Population,
    first: NDArray[np.int64],
    second: NDArray[np.int64],
    rng: np.random.Generator,
    *,
    genome: Genome,
    settings: Nsga2Settings,
    siblings: bool = True,
    class_rate: float | None = None,
) -> Brood:
    """Two children of each pair of rows; each has the class of one parent, the one that it is said to descend from.

    Without siblings there is but one, who descends from the first. The class rate is the settings' where it is None.
    """
    ones, others = crossed(
        parents.points[first],
        parents.points[second],
        rng,
        bounds=genome.bounds,
        rate=settings.crossover,
        gene_rate=settings.crossover_genes,
        eta=settings.crossover_eta,
    )
    points = mutated(
        np.concatenate([ones, others]) if siblings else ones,
        rng,
        bounds=genome.bounds,
        gene_rate=settings.mutation,
        eta=settings.mutation_eta,
    )
    rows = np.concatenate([first, second]) if siblings else first
    classes = parents.classes[rows]
    if genome.classes is not None:
        rate = settings.class_mutation if class_rate is None else class_rate
        classes = mutated_classes(classes, rng, count=genome.classes, rate=rate)
    return Brood(points, classes, parents.evaluation[rows])
