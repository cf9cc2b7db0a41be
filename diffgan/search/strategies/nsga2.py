"""NSGA-II over a generator's latents, for divergence and diversity, by ask and tell on plain arrays."""

from __future__ import annotations

from functools import reduce
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.images import ByteImages
from diffgan.search.collapse import CollapseMeter, cells_of
from diffgan.search.refits import Refits
from diffgan.search.screen import TELLING
from diffgan.search.strategies.breeding import Brood, Genome, fresh
from diffgan.search.strategies.nsga2_broods import Given, bred_by_finds, bred_by_population
from diffgan.search.strategies.nsga2_parts import batch_after, diversity_of, finds_of, made_after, screen_of
from diffgan.search.strategies.nsga2_settings import Nsga2Settings
from diffgan.search.strategies.nsga2_survivors import contenders, survivors
from diffgan.search.strategies.population import NO_CELL, Population
from diffgan.search.strategies.protocol import Batch, State, StrategySetup
from diffgan.search.strategies.randomness import pack_generator, seeded, unpack_generator
from diffgan.search.strategies.settings import read_strategy_settings
from diffgan.search.strategies.survival import best_first, crowding_distances, front_ranks
from diffgan.search.strategies.told import Told

if TYPE_CHECKING:
    from diffgan.search.divergence import Divergences


class Nsga2:
    """The genetic search.

    Args:
        setup: with a generator.
        settings: see there.
        name: the strategy's.
        divergence: whether divergence is an objective.
        diversity: whether diversity is.
        refits: where clusters are found anew; see `Diversity`.
    """

    def __init__(
        self,
        setup: StrategySetup,
        settings: Nsga2Settings,
        *,
        name: str = "nsga2",
        divergence: bool = True,
        diversity: bool = True,
        refits: Refits | None = None,
    ) -> None:
        self.name = name
        self._settings = settings
        self._generator = setup.required_generator(name)
        self._prior = settings.box(self._generator.prior)
        self._genome = Genome(self._generator.latent, self._prior.bounds, self._generator.classes)
        self._batch_size = setup.batch_size
        self._rng = seeded(setup.seed, name)
        self._weights = np.array([divergence, diversity], dtype=np.float64)
        self._stopwatch = setup.stopwatch
        self._has_cells = setup.divergence is None or setup.divergence.task == "classification"
        self._diversity = diversity_of(setup, settings, refits) if diversity else None
        self._finds = finds_of(setup, settings, self._genome.genes)
        self._screen = screen_of(setup, settings, self._finds) if self._has_cells else None
        #: Seconds that the latest batch took to make, each image of it, and that the models had taken before it.
        self._making, self._answering = 0.0, 0.0
        self._collapse = CollapseMeter()
        self._parents = Population.empty(self._genome.genes)
        self._crowding = np.empty(0)
        self._children = Population.empty(self._genome.genes)
        #: Images shown, generations ended, equal individuals dropped, images made.
        self._evaluations, self._generation, self._dropped, self._made = 0, 0, 0, 0
        #: Whether clusters have changed since the diversities of the population were measured.
        self._stale = False
        #: Images of this generation that it was told of, and whether the finds have all of its children.
        self._told, self._finds_lead = 0, False
        self._asked: tuple[Brood, Batch] | None = None

    def warm_up(self) -> None:
        """Compiles and starts what refits need."""
        if self._diversity is not None:
            self._diversity.warm_up()

    def close(self) -> None:
        """Ends what refits run in."""
        if self._diversity is not None:
            self._diversity.close()

    def ask(self) -> Batch:
        """The next children, or members of the first generation."""
        if self._asked is None:
            started = perf_counter()
            brood = self._next_brood()
            count, screen = len(brood), self._screen
            whole = min(self._batch_size, self._settings.children)
            for _ in range(1, made_after(self._evaluations, count, whole, screen, self._settings)):
                brood = brood.joined(self._next_brood())
            made = len(brood)
            latents, images = self._shown(brood)
            if screen is not None and screen.asks:
                with self._stopwatch.measure("screen"):
                    rows = screen.chosen(images, count)
                brood, latents, images = brood.take(rows), latents[rows], images[rows]
            self._made += made
            self._making, self._answering = (perf_counter() - started) / made, self._stopwatch.seconds["models"]
            self._asked = brood, Batch(images, latents, self._classes(brood), parent=brood.parent)
        return self._asked[1]

    def tell(
        self,
        outputs_a: NDArray[np.float32],
        outputs_b: NDArray[np.float32],
        divergences: Divergences,
        is_new: NDArray[np.bool_],
    ) -> None:
        """Takes the answers in; after the last of a generation, the fittest survive."""
        if self._asked is None:
            raise UsageError(f"The strategy {self.name} was told of images that it did not give: ask first.")
        brood, batch = self._asked
        self._asked = None
        cells = np.full(len(batch), NO_CELL, dtype=np.int64)
        if self._has_cells:
            cells[divergences.triggers] = cells_of(outputs_a[divergences.triggers], outputs_b[divergences.triggers])
            self._collapse.observe(cells[is_new])
        numbers = np.arange(self._evaluations, self._evaluations + len(batch), dtype=np.int64)
        told = Told(brood, divergences, cells, numbers, known=divergences.triggers & ~is_new)
        self._evaluations += len(batch)
        if self._screen is not None and self._screen.asks:
            with self._stopwatch.measure("screen"):
                self._screen.learn(outputs_a, outputs_b)
            if len(batch) >= min(TELLING, self._batch_size, self._generation_size):
                answers = (self._stopwatch.seconds["models"] - self._answering) / len(batch)
                self._screen.cost(self._making, answers)
        self._take_in(told, batch.images, is_new)
        self._advance(batch.images[is_new])
        self._told += len(batch)
        if not self._finds_lead:
            whole = told.population(np.arange(len(batch)), batch.images, self._scores)
            self._children = self._children.joined(whole) if len(self._children) else whole
        if self._told >= self._generation_size:
            self._end_generation()

    def _take_in(self, told: Told, images: ByteImages, is_new: NDArray[np.bool_]) -> None:
        if self._finds is None:
            return
        least = -np.inf if self._settings.least is None else self._settings.least
        new = np.flatnonzero(is_new & (told.divergences.amount >= least))
        with self._stopwatch.measure("diversity"):
            rows = new[self._finds.admitted(images[new], told.cells[new])]
        if len(rows):
            self._finds.add(told.population(rows, images[rows], self._scores), weights=self._weights, rng=self._rng)

    def state(self) -> State:
        """Population, random generator, counters, clusters."""
        counters = [
            *(self._evaluations, self._generation, self._dropped, self._stale),
            *(self._told, self._finds_lead, self._made),
        ]
        parts = {"diversity/": self._diversity, "finds/": self._finds, "screen/": self._screen}
        return {
            "rng": pack_generator(self._rng),
            "counters": np.array(counters, dtype=np.int64),
            "crowding": self._crowding,
            **self._parents.to_state("parents/"),
            **self._children.to_state("children/"),
            **self._collapse.state(),
            **{
                prefix + name: array
                for prefix, part in parts.items()
                if part is not None
                for name, array in part.state().items()
            },
        }

    def restore(self, state: State) -> None:
        """Goes on from there."""
        self._asked = None
        unpack_generator(self._rng, state["rng"])
        counters = state["counters"].tolist()
        self._evaluations, self._generation, self._dropped, stale, self._told, lead, self._made = counters
        self._stale, self._finds_lead = bool(stale), bool(lead)
        self._crowding = state["crowding"]
        self._parents = Population.from_state(state, "parents/")
        self._children = Population.from_state(state, "children/")
        self._collapse.restore(state)
        if self._diversity is not None:
            self._diversity.restore(_part_of(state, "diversity/"))
        if self._finds is not None:
            self._finds.restore(_part_of(state, "finds/"))
        if self._screen is not None:
            self._screen.restore(_part_of(state, "screen/"))

    def facts(self) -> dict[str, Any]:
        """Where the search stands."""
        figures: dict[str, Any] = {
            "generation": self._generation,
            "population": len(self._parents),
            "duplicates": self._dropped,
            "made": self._made,
        }
        if self._finds is not None:
            figures["finds"] = self._finds.distinct
            figures["look_valid"] = self._finds.look_valid
        if self._diversity is not None:
            figures["clusters"] = self._diversity.clusters
        if self._has_cells:
            figures["cells"] = self._collapse.cells
            figures["largest_cell_share"] = round(self._collapse.largest_share, 4)
            figures["largest_recent_cell_share"] = round(self._collapse.largest_recent_share, 4)
        return figures

    @property
    def _generation_size(self) -> int:
        return self._settings.children if self._generation else self._settings.first

    def _next_brood(self) -> Brood:
        most = self._batch_size if self._finds is None else batch_after(self._evaluations, self._batch_size)
        count = min(most, self._generation_size - self._told)
        new = count if not self._generation else round(self._settings.fresh * count)
        drawn = fresh(new, self._genome, self._rng)
        if new == count:
            return drawn
        led = self._led(count - new)
        given = Given(self._weights, self._rng, self._genome, self._settings)
        broods: list[Brood] = []
        if self._finds is not None and led:
            broods.append(bred_by_finds(self._finds, led, given))
        if rest := count - new - led:
            bred, self._parents = bred_by_population(self._parents, self._crowding, rest, given)
            broods.append(bred)
        return reduce(Brood.joined, [*broods, drawn])

    def _led(self, count: int) -> int:
        """How many of so many children the finds have."""
        return 0 if self._finds is None else min(count, self._settings.reach * len(self._finds))

    def _classes(self, brood: Brood | Population) -> NDArray[np.int64] | None:
        return None if self._genome.classes is None else brood.classes

    def _shown(self, brood: Brood | Population) -> tuple[NDArray[np.float32], ByteImages]:
        latents = self._prior.to_latents(brood.points)
        return latents, self._generator.images(latents, self._classes(brood))

    def _scores(self, images: ByteImages) -> NDArray[np.float64]:
        if self._diversity is None:
            return np.zeros(len(images))
        with self._stopwatch.measure("diversity"):
            return self._diversity.scores(images)

    def _advance(self, found: ByteImages) -> None:
        if self._diversity is None:
            return
        before = self._diversity.representatives
        with self._stopwatch.measure("diversity"):
            self._diversity.observe(found)
            self._diversity.advance(self._evaluations)
        self._stale |= self._diversity.representatives is not before

    def _end_generation(self) -> None:
        if self._stale and self._finds is not None:
            self._finds.rescored(self._diversities)
        if not self._finds_lead:
            self._survive()
            self._children = Population.empty(self._genome.genes)
        # The population rests where the finds have all children of a generation: nobody asks who of it survives.
        rested, self._finds_lead = self._finds_lead, self._led(self._settings.children) == self._settings.children
        self._stale, self._told = rested and not self._finds_lead, 0
        self._generation += 1

    def _survive(self) -> None:
        everybody, doubles = contenders(self._parents.joined(self._children), drop_known=self._settings.drop_known)
        self._dropped += doubles
        if self._stale:
            everybody = everybody.rescored(self._diversities(everybody))
        objectives = everybody.objectives * self._weights
        ranks = front_ranks(objectives)
        crowding = crowding_distances(objectives, ranks)
        order = survivors(everybody, best_first(ranks, crowding, self._rng), self._settings)
        self._parents, self._crowding = everybody.take(order), crowding[order]

    def _diversities(self, members: Population) -> NDArray[np.float64]:
        """Measured anew, on images that the generator makes again."""
        return self._scores(self._shown(members)[1])


def _part_of(state: State, prefix: str) -> State:
    return {name.removeprefix(prefix): array for name, array in state.items() if name.startswith(prefix)}


def build_nsga2(setup: StrategySetup) -> Nsga2:
    """See `Nsga2`."""
    return Nsga2(setup, read_strategy_settings(Nsga2Settings, setup.settings, "nsga2"))
