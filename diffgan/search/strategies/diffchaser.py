"""DiffChaser: a small genetic search about each seed, for images of which a model is not sure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.images import ByteImages
from diffgan.search.mutations import DRFUZZ, mutate
from diffgan.search.strategies.diffchaser_settings import DiffchaserSettings
from diffgan.search.strategies.protocol import NO_PARENT, Batch, State, StrategySetup
from diffgan.search.strategies.randomness import pack_generator, seeded, unpack_generator
from diffgan.search.strategies.seeds import SeedOrder, check_seeds
from diffgan.search.strategies.settings import read_strategy_settings

if TYPE_CHECKING:
    from diffgan.search.divergence import Divergences

_OPERATORS = tuple(DRFUZZ.values())

#: Arrays with a row a lane, that a checkpoint holds.
_COLUMNS = ("image", "sureness", "evaluation", "seed", "generation")


class Diffchaser:
    """DiffChaser on many seeds side by side: a lane has one seed's population until that has a trigger.

    Args:
        setup: with labelled images.
        settings: see there.
    """

    name = "diffchaser"

    def __init__(self, setup: StrategySetup, settings: DiffchaserSettings) -> None:
        check_seeds(setup, self.name)
        self._population = settings.population
        lanes = setup.batch_size // self._population
        if not lanes:
            raise UsageError(
                f"The strategy {self.name} shows a population of {self._population} whole, which does not fit a batch "
                f"of {setup.batch_size} images: give a larger batch, or a smaller population."
            )
        self._images, self._settings = setup.images, settings
        self._rng = seeded(setup.seed, self.name)
        self._order = SeedOrder(len(setup.images), setup.seed, self.name)
        shape = (lanes, self._population)
        #: A lane's images, the best in front, how sure the models are of each, and the evaluation that showed it.
        self._image = np.zeros((*shape, *setup.images.shape[1:]), dtype=np.uint8)
        self._sureness = np.full(shape, np.inf, dtype=np.float32)
        self._evaluation = np.full(shape, NO_PARENT, dtype=np.int64)
        self._seed = np.zeros(lanes, dtype=np.int64)
        #: 0: the population has still to be made from the seed.
        self._generation = np.zeros(lanes, dtype=np.int64)
        self._begin(np.arange(lanes))
        self._evaluations, self._solved, self._given_up = 0, 0, 0
        #: The batch, and the lane and member of each of its rows.
        self._asked: tuple[Batch, NDArray[np.intp], NDArray[np.intp]] | None = None

    def warm_up(self) -> None:
        """Nothing to warm up."""

    def close(self) -> None:
        """Nothing to close."""

    def ask(self) -> Batch:
        """Every lane's next generation: the best stands, and is not shown again."""
        if self._asked is None:
            is_new = self._generation == 0
            shown = np.ones(self._sureness.shape, dtype=np.bool_)
            shown[~is_new, 0] = False
            lane, member = np.nonzero(shown)
            children, parent = self._children(lane)
            going = member > 0
            mutated = going & (is_new[lane] | (self._rng.random(len(lane)) < self._settings.mutation))
            rows = np.flatnonzero(mutated)
            operators = self._rng.integers(len(_OPERATORS), size=len(rows))
            children[rows] = mutate(_OPERATORS, operators, children[rows], self._rng)
            self._asked = Batch(children, seed_index=self._seed[lane], parent=parent), lane, member
        return self._asked[0]

    def tell(
        self,
        outputs_a: NDArray[np.float32],
        outputs_b: NDArray[np.float32],
        divergences: Divergences,
        is_new: NDArray[np.bool_],  # noqa: ARG002 - a label difference ends a seed, known or not
    ) -> None:
        """Brings the best of each lane to its front, and gives the next seed to those that have a trigger."""
        if self._asked is None:
            raise UsageError(f"The strategy {self.name} was told of images that it did not give: ask first.")
        (batch, lane, member), self._asked = self._asked, None
        self._image[lane, member] = batch.images
        k = self._settings.k
        self._sureness[lane, member] = np.minimum(sureness(outputs_a, k), sureness(outputs_b, k))
        self._evaluation[lane, member] = self._evaluations + np.arange(len(batch))
        self._evaluations += len(batch)
        self._generation += 1
        self._best_in_front()
        solved = np.zeros(len(self._seed), dtype=np.bool_)
        solved[lane[divergences.triggers]] = True
        gives_up = ~solved & (self._generation > self._settings.patience)
        self._solved += int(solved.sum())
        self._given_up += int(gives_up.sum())
        self._begin(np.flatnonzero(solved | gives_up))

    def state(self) -> State:
        """Populations, counters and the random generator."""
        counters = [self._order.taken, self._evaluations, self._solved, self._given_up]
        return {
            "rng": pack_generator(self._rng),
            "counters": np.array(counters, dtype=np.int64),
            **{f"lanes/{name}": getattr(self, f"_{name}").copy() for name in _COLUMNS},
        }

    def restore(self, state: State) -> None:
        """Goes on from there."""
        self._asked = None
        unpack_generator(self._rng, state["rng"])
        self._order.taken, self._evaluations, self._solved, self._given_up = state["counters"].tolist()
        for name in _COLUMNS:
            setattr(self, f"_{name}", state[f"lanes/{name}"].copy())

    def facts(self) -> dict[str, Any]:
        """Where the search stands."""
        return {"solved": self._solved, "given_up": self._given_up, "passes": self._order.passes}

    def _begin(self, lanes: NDArray[np.intp]) -> None:
        """The next seeds, in the lanes that are free; until they are mutated, all of a population are the seed."""
        self._seed[lanes] = self._order.take(len(lanes))
        self._image[lanes] = self._images[self._seed[lanes], None]
        self._sureness[lanes], self._evaluation[lanes], self._generation[lanes] = np.inf, NO_PARENT, 0

    def _children(self, lane: NDArray[np.intp]) -> tuple[ByteImages, NDArray[np.int64]]:
        """A crossover of two selected members of each row's lane, and the evaluation of the one that it is more of."""
        first, second = self._selected(lane), self._selected(lane)
        children = crossed(self._image[lane, first], self._image[lane, second], self._rng)
        return children, self._evaluation[lane, first]

    def _selected(self, lane: NDArray[np.intp]) -> NDArray[np.int64]:
        """The winner of a tournament of two: the one that a model is less sure of."""
        one, other = self._rng.integers(self._population, size=(2, len(lane)))
        return np.asarray(np.where(self._sureness[lane, other] < self._sureness[lane, one], other, one))

    def _best_in_front(self) -> None:
        best, lanes = self._sureness.argmin(axis=1), np.arange(len(self._seed))
        for column in (self._image, self._sureness, self._evaluation):
            front = column[:, 0].copy()
            column[:, 0] = column[lanes, best]
            column[lanes, best] = front


def sureness(outputs: NDArray[np.float32], k: int) -> NDArray[np.float32]:
    """How far a model's k greatest probabilities are apart: the sum of the greatest one's distances from the others.

    Example:
        >>> sureness(np.array([[0.25, 0.5, 0.125, 0.125]], dtype=np.float32), 2).item()
        0.25
    """
    k = min(k, outputs.shape[1])
    top = -np.partition(-outputs, k - 1, axis=1)[:, :k]
    return np.asarray(k * top.max(axis=1) - top.sum(axis=1))


def crossed(first: ByteImages, second: ByteImages, rng: np.random.Generator) -> ByteImages:
    """Each image of the first, with a rectangle of up to half its height and width from the one of the second."""
    count, height, width, _ = first.shape
    inside = np.ones((count, 1, 1), dtype=np.bool_)
    for side, axis in ((height, 2), (width, 1)):
        length = rng.integers(side // 2 + 1, size=count)
        start = rng.integers(side - length + 1)
        place = np.arange(side)
        reached = (place >= start[:, None]) & (place < (start + length)[:, None])
        inside = inside & np.expand_dims(reached, axis)
    return np.where(inside[..., None], second, first)


def build_diffchaser(setup: StrategySetup) -> Diffchaser:
    """See `Diffchaser`."""
    return Diffchaser(setup, read_strategy_settings(DiffchaserSettings, setup.settings, Diffchaser.name))
