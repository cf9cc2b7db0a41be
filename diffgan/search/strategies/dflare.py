"""DFlare: each seed is mutated step by step until the models disagree. See docs/strategies.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.images import ByteImages
from diffgan.search.mutations import DFLARE, mutate
from diffgan.search.strategies.chain import next_operators
from diffgan.search.strategies.dflare_memory import Memory
from diffgan.search.strategies.dflare_settings import DflareSettings
from diffgan.search.strategies.protocol import NO_PARENT, Batch, State, StrategySetup
from diffgan.search.strategies.randomness import pack_generator, seeded, unpack_generator
from diffgan.search.strategies.seeds import SeedOrder, check_seeds
from diffgan.search.strategies.settings import read_strategy_settings

if TYPE_CHECKING:
    from diffgan.search.divergence import Divergences

_OPERATORS = tuple(DFLARE.values())

#: Arrays with a row a lane, that a checkpoint holds.
_COLUMNS = ("image", "seed", "evaluation", "tries", "best", "operator")


class Dflare:
    """DFlare on many seeds side by side: a lane has one seed until that has a trigger, and then takes the next.

    Args:
        setup: with labelled images.
        settings: see there.
    """

    name = "dflare"

    def __init__(self, setup: StrategySetup, settings: DflareSettings) -> None:
        check_seeds(setup, self.name)
        self._images, self._settings = setup.images, settings
        self._rng = seeded(setup.seed, self.name)
        self._order = SeedOrder(len(setup.images), setup.seed, self.name)
        lanes = min(settings.lanes or setup.batch_size, setup.batch_size)
        self._seed = self._order.take(lanes)
        #: The last accepted image of each lane, and the evaluation that showed it; the seed itself has none.
        self._image = setup.images[self._seed]
        self._evaluation = np.full(lanes, NO_PARENT, dtype=np.int64)
        #: Mutants tried; -1: the seed itself has still to be shown.
        self._tries = np.full(lanes, -1, dtype=np.int64)
        self._best = np.zeros(lanes, dtype=np.float32)
        self._operator = self._rng.integers(len(_OPERATORS), size=lanes)
        self._memory = Memory(settings.distance)
        #: Of each operator, how often it was picked, and how often its mutant was accepted.
        self._counts = np.zeros((2, len(_OPERATORS)), dtype=np.int64)
        self._evaluations, self._solved, self._given_up = 0, 0, 0
        self._asked: Batch | None = None

    def warm_up(self) -> None:
        """Nothing to warm up."""

    def close(self) -> None:
        """Nothing to close."""

    def ask(self) -> Batch:
        """One image a lane: a seed that is new in it, or a mutant of its last accepted image."""
        if self._asked is None:
            picked, accepted = self._counts
            scores = accepted / np.maximum(picked, 1)
            self._operator = (
                next_operators(self._operator, scores, self._rng)
                if accepted.any()
                else self._rng.integers(len(_OPERATORS), size=len(self._operator))
            )
            images, going = self._image.copy(), np.flatnonzero(self._tries >= 0)
            images[going] = mutate(_OPERATORS, self._operator[going], images[going], self._rng)
            self._asked = Batch(images, seed_index=self._seed.copy(), parent=self._evaluation.copy())
        return self._asked

    def tell(
        self,
        outputs_a: NDArray[np.float32],
        outputs_b: NDArray[np.float32],
        divergences: Divergences,
        is_new: NDArray[np.bool_],  # noqa: ARG002 - a label difference ends a seed, known or not
    ) -> None:
        """Accepts mutants, and gives the next seed to each lane whose seed has a trigger or was tried long enough."""
        if self._asked is None:
            raise UsageError(f"The strategy {self.name} was told of images that it did not give: ask first.")
        images, self._asked = self._asked.images, None
        apart = np.abs(outputs_a.max(axis=1) - outputs_b.max(axis=1))
        answers = np.concatenate([outputs_a, outputs_b], axis=1)
        is_seed = self._tries < 0
        is_far = self._memory.is_far(answers)
        raises = apart > self._best + np.float32(self._settings.gain)
        accepted = ~is_seed & (raises | is_far | divergences.triggers)
        np.add.at(self._counts[0], self._operator[~is_seed], 1)
        np.add.at(self._counts[1], self._operator[accepted], 1)
        self._accept(images, np.flatnonzero(accepted))
        self._best = np.where(is_seed, apart, np.maximum(self._best, apart))
        self._memory.remember(answers, np.flatnonzero(is_seed | is_far))
        self._tries += 1
        self._evaluations += len(images)
        gives_up = ~divergences.triggers & (self._tries >= self._settings.patience)
        self._solved += int(divergences.triggers.sum())
        self._given_up += int(gives_up.sum())
        self._begin(np.flatnonzero(divergences.triggers | gives_up))

    def state(self) -> State:
        """Lanes, counts, what was seen, and the random generator."""
        counters = [self._order.taken, self._evaluations, self._solved, self._given_up]
        return {
            "rng": pack_generator(self._rng),
            "counters": np.array(counters, dtype=np.int64),
            "operators": self._counts.copy(),
            **{f"lanes/{name}": getattr(self, f"_{name}").copy() for name in _COLUMNS},
            **self._memory.state(),
        }

    def restore(self, state: State) -> None:
        """Goes on from there."""
        self._asked = None
        unpack_generator(self._rng, state["rng"])
        self._order.taken, self._evaluations, self._solved, self._given_up = state["counters"].tolist()
        self._counts = state["operators"].copy()
        for name in _COLUMNS:
            setattr(self, f"_{name}", state[f"lanes/{name}"].copy())
        self._memory.restore(state)

    def facts(self) -> dict[str, Any]:
        """Where the search stands."""
        return {"solved": self._solved, "given_up": self._given_up, "passes": self._order.passes}

    def _accept(self, images: ByteImages, lanes: NDArray[np.intp]) -> None:
        self._image[lanes] = images[lanes]
        self._evaluation[lanes] = self._evaluations + lanes

    def _begin(self, lanes: NDArray[np.intp]) -> None:
        """The next seeds, in the lanes that are free."""
        self._seed[lanes] = self._order.take(len(lanes))
        self._image[lanes] = self._images[self._seed[lanes]]
        self._evaluation[lanes] = NO_PARENT
        self._tries[lanes] = -1
        self._best[lanes] = 0
        self._memory.forget(lanes)


def build_dflare(setup: StrategySetup) -> Dflare:
    """See `Dflare`."""
    return Dflare(setup, read_strategy_settings(DflareSettings, setup.settings, Dflare.name))
