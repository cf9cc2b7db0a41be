"""What strategies that start from real images share: their checks, and the order in which seeds are taken."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.search.strategies.protocol import StrategySetup
from diffgan.search.strategies.randomness import seeded


def check_seeds(setup: StrategySetup, name: str) -> None:
    """Makes sure that there are labelled seeds, and models that answer with classes.

    Raises:
        UsageError: there are none, or the task is another one.
    """
    if not len(setup.images) or len(setup.images) != len(setup.labels):
        raise UsageError(
            f"The strategy {name} starts from labelled images, but was given {len(setup.images)} images and "
            f"{len(setup.labels)} labels: give data with at least one image, each with a label."
        )
    if setup.divergence is not None and setup.divergence.task != "classification":
        raise UsageError(
            f"The strategy {name} is for classification, but the divergence is for {setup.divergence.task}: take "
            "random or nsga2."
        )


class SeedOrder:
    """Seeds in passes: each pass takes every seed once, in an order of its own that follows from the search's seed.

    Args:
        count: how many seeds there are.
        seed: of the orders.
        name: the strategy's, so that two do not walk alike.
    """

    def __init__(self, count: int, seed: int, name: str) -> None:
        self._count, self._seed, self._name = count, seed, name
        #: Seeds taken so far.
        self.taken = 0

    @property
    def passes(self) -> int:
        """How often all seeds have been taken."""
        return self.taken // self._count

    def take(self, count: int) -> NDArray[np.int64]:
        """The next so many."""
        parts = []
        while count:
            turn, place = divmod(self.taken, self._count)
            part = self._order(turn)[place : place + count]
            parts.append(part)
            self.taken += len(part)
            count -= len(part)
        return np.concatenate(parts) if parts else np.empty(0, dtype=np.int64)

    def _order(self, turn: int) -> NDArray[np.int64]:
        return seeded(self._seed, f"{self._name}/pass {turn}").permutation(self._count).astype(np.int64)
