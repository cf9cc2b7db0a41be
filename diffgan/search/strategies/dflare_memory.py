"""What both models said of each lane's seed and of those of its mutants that were something new."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffgan.search.strategies.protocol import State


class Memory:
    """Answers, each of one lane, that lie farther from one another than a distance.

    Args:
        distance: squared.
    """

    def __init__(self, distance: float) -> None:
        self._distance = distance
        self._lane = np.empty(0, dtype=np.int64)
        self._answers = np.empty((0, 0), dtype=np.float32)

    def is_far(self, answers: NDArray[np.float32]) -> NDArray[np.bool_]:
        """Whether each lane's answer is farther than the distance from all that are remembered of that lane."""
        nearest = np.full(len(answers), np.inf, dtype=np.float32)
        if len(self._lane):
            apart = self._answers - answers[self._lane]
            np.minimum.at(nearest, self._lane, np.einsum("nk,nk->n", apart, apart))
        return np.asarray(nearest > self._distance)

    def remember(self, answers: NDArray[np.float32], lanes: NDArray[np.intp]) -> None:
        """These lanes' answers."""
        kept = self._answers if len(self._answers) else answers[:0]
        self._answers = np.concatenate([kept, answers[lanes]])
        self._lane = np.concatenate([self._lane, lanes])

    def forget(self, lanes: NDArray[np.intp]) -> None:
        """All that is remembered of these lanes."""
        kept = ~np.isin(self._lane, lanes)
        self._lane, self._answers = self._lane[kept], self._answers[kept]

    def state(self) -> State:
        """As arrays, which are never written into."""
        return {"memory/lane": self._lane, "memory/answers": self._answers}

    def restore(self, state: State) -> None:
        """Goes on from there."""
        self._lane, self._answers = state["memory/lane"], state["memory/answers"]
