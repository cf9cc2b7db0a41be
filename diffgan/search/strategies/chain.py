"""Which operator comes next: the Metropolis-Hastings chain that DRFuzz and DFlare share."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def next_operators(
    current: NDArray[np.int64], scores: NDArray[np.float64], rng: np.random.Generator
) -> NDArray[np.int64]:
    """The next operator of each chain, given its present one.

    Operators are ranked by their scores, the greatest first, equal ones as they stand. A chain proposes one uniformly,
    and takes it with the chance (1 - p)^(its rank less the present one's), p = 1 / operators; else it proposes again.

    Args:
        current: the present operators, one for each chain.
        scores: of all operators.
        rng: draws proposals.
    """
    count = len(scores)
    rank = np.empty(count, dtype=np.int64)
    rank[np.argsort(-scores, kind="stable")] = np.arange(count)
    chosen = current.copy()
    waiting = np.arange(len(current))
    while len(waiting):
        proposed = rng.integers(count, size=len(waiting))
        worse = rank[proposed] - rank[current[waiting]]
        accepted = rng.random(len(waiting)) < (1 - 1 / count) ** worse
        chosen[waiting[accepted]] = proposed[accepted]
        waiting = waiting[~accepted]
    return chosen
