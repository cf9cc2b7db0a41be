"""The finds of a search: triggers that look valid and distinct from all before. They are its result and its parents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.checkpoint import frozen
from diffgan.search.novelty import Novelty
from diffgan.search.strategies.population import Population
from diffgan.search.strategies.protocol import State
from diffgan.search.strategies.survival import best_first, crowding_distances, dominates, front_ranks
from diffgan.search.thumbnails import thumbnails

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Which images look valid.
Recognises = Callable[[ByteImages], NDArray[np.bool_]]

#: A cell with fewer finds than this is thin.
_FEW = 64
#: Where there are too many, this part of them makes room at a time.
_CUT = 4
#: Bytes of a part of the state, and its most rows: a checkpoint writes a part anew only where it has changed.
_PART_BYTES, _PART_ROWS = 16_384, 1024
_MEMBERS, _NOVELTY = "members/", "novelty/"
#: The column that changes with each brood; the others do with all members only.
_CHANGING = "matings"


class Finds:
    """Distinct recognised triggers, in the order in which they were found.

    Args:
        genes: of an individual.
        most: so many can be parents; beyond, NSGA-II's survival says who stays.
        cell_share: the most of the matings that one cell has, where there are enough cells.
        explore: the share of the matings that goes evenly to all cells as long as all are thin.
        novelty: remembers what is distinct, also of those who made room.
        recognises: which images look valid; None: all do.
    """

    def __init__(
        self,
        genes: int,
        *,
        most: int,
        cell_share: float,
        explore: float,
        novelty: Novelty,
        recognises: Recognises | None,
    ) -> None:
        self._most, self._cell_share, self._explore = most, cell_share, explore
        self.novelty, self._recognises = novelty, recognises
        self.members = Population.empty(genes)
        self.recognised = 0
        #: How many there were, remembered or not.
        self.distinct = 0
        #: Parts of the state that stay as they are until members make room.
        self._settled: State = {}

    def __len__(self) -> int:
        return len(self.members)

    @property
    def exploring(self) -> float:
        """The share of the matings that goes evenly to all cells: the less, the fewer of them are thin."""
        return self._explore * self.novelty.thin(_FEW)

    @property
    def look_valid(self) -> bool:
        """Whether they have to."""
        return self._recognises is not None

    def admitted(self, images: ByteImages, cells: Ints) -> Ints:
        """The rows of new triggers that look valid and are distinct; they are remembered."""
        rows = np.arange(len(images))
        if not len(images):
            return rows
        if self._recognises is not None:
            rows = np.flatnonzero(self._recognises(images))
        self.recognised += len(rows)
        if not len(rows):
            return rows
        rows = rows[self.novelty.admit(thumbnails(images[rows]), cells[rows])]
        self.distinct += len(rows)
        return rows

    def add(self, admitted: Population, *, weights: Floats, rng: np.random.Generator) -> None:
        """Takes in what was admitted.

        Args:
            admitted: in the order in which they were found.
            weights: of the objectives divergence and diversity.
            rng: decides where it is even who makes room.
        """
        self.members = self.members.joined(admitted)
        if len(self) > self._most:
            self._make_room(weights, rng)

    def parents(self, count: int, *, weights: Floats, rng: np.random.Generator) -> tuple[Ints, Ints]:
        """Rows of parents, and of a mate for each from the same cell; each has been a parent once more.

        A cell is drawn evenly where the search explores, else by the root of its size, and of two of its members the
        one that was a parent less often wins, else the one that dominates, else the lot.
        """
        order = np.argsort(self.members.cell, kind="stable")
        _, starts, sizes = np.unique(self.members.cell[order], return_index=True, return_counts=True)
        chosen = rng.choice(len(sizes), count, p=self._shares(sizes))
        one, other, mate = (
            order[starts[chosen] + (rng.random(count) * sizes[chosen]).astype(np.int64)] for _ in range(3)
        )
        winner = self._winners(one, other, weights, rng)
        self.members = self.members.mated(winner)
        return winner, mate

    def rescored(self, scores: Callable[[Population], Floats]) -> None:
        """Measures all diversities anew."""
        if len(self):
            self.members = self.members.rescored(scores(self.members))
            self._settled = {}

    def state(self) -> State:
        """Members and what is remembered, in parts."""
        parts: State = {"recognised": np.array([self.recognised, len(self), self.distinct])}
        for name, column in self.members.to_state("").items():
            rows = _rows_of_a_part(column)
            for start in range(0, max(1, len(column)), rows):
                part = f"{_MEMBERS}{name}/{start}"
                shown = column[start : start + rows]
                if name != _CHANGING and len(shown) == rows:
                    if part not in self._settled:
                        self._settled[part] = frozen(shown)
                    shown = self._settled[part]
                parts[part] = shown
        return parts | {_NOVELTY + name: array for name, array in self.novelty.state().items()}

    def restore(self, state: State) -> None:
        """Goes on where `state` was taken."""
        self.recognised, count, *distinct = state["recognised"].tolist()
        columns = {}
        for field in fields(Population):
            first = state[f"{_MEMBERS}{field.name}/0"]
            starts = range(0, max(1, count), _rows_of_a_part(first))
            columns[field.name] = np.concatenate([state[f"{_MEMBERS}{field.name}/{start}"] for start in starts])
        self.members, self._settled = Population.from_state(columns, ""), {}
        own = {name.removeprefix(_NOVELTY): array for name, array in state.items() if name.startswith(_NOVELTY)}
        self.novelty.restore(own)
        self.distinct = distinct[0] if distinct else len(self.novelty)  # a former version's did not say

    def _shares(self, sizes: Ints) -> Floats:
        """Each cell's chance: by the root of its size, for those that explore evenly, but none above the most allowed,
        or a half more than is even."""
        most = min(1.0, max(self._cell_share, 1.5 / len(sizes)))
        even = self.exploring
        shares: Floats = (1 - even) * np.sqrt(sizes) / np.sqrt(sizes).sum() + even / len(sizes)
        full = np.zeros(len(sizes), dtype=np.bool_)
        while (shares > most + 1e-12).any():
            full |= shares > most
            shares[full] = most
            shares[~full] *= (1 - most * full.sum()) / shares[~full].sum()
        return shares

    def _winners(self, one: Ints, other: Ints, weights: Floats, rng: np.random.Generator) -> Ints:
        matings = self.members.matings
        objectives = self.members.objectives * weights
        fewer = matings[one] < matings[other]
        even = matings[one] == matings[other]
        ahead = dominates(objectives, one, other)
        behind = dominates(objectives, other, one)
        lot = rng.random(len(one)) < 0.5
        return np.where(fewer | (even & (ahead | (~behind & lot))), one, other)

    def _make_room(self, weights: Floats, rng: np.random.Generator) -> None:
        """Those who were parents most often go first, and among equals those who survive last."""
        objectives = self.members.objectives * weights
        ranks = front_ranks(objectives)
        order = best_first(ranks, crowding_distances(objectives, ranks), rng)
        order = order[np.argsort(self.members.matings[order], kind="stable")]
        self.members = self.members.take(np.sort(order[: self._most - self._most // _CUT]))
        self._settled = {}


def _rows_of_a_part(column: NDArray[Any]) -> int:
    return max(1, min(_PART_ROWS, _PART_BYTES // max(1, column[:1].nbytes)))
