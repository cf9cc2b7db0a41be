"""DRFuzz: mutants of real images, by operators that paid, from seeds that promise more. See docs/strategies.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.search.mutations import DRFUZZ, mutate
from diffgan.search.strategies.chain import next_operators
from diffgan.search.strategies.drfuzz_feedback import Gains, OperatorCounts, rewarding
from diffgan.search.strategies.drfuzz_gate import Gate
from diffgan.search.strategies.drfuzz_mutants import AS_IT_IS, Mutants, joined
from diffgan.search.strategies.drfuzz_pool import Pool, Seeds
from diffgan.search.strategies.drfuzz_settings import DrfuzzSettings
from diffgan.search.strategies.population import fingerprints, first_of_each
from diffgan.search.strategies.protocol import NO_PARENT, Batch, State, StrategySetup
from diffgan.search.strategies.randomness import pack_generator, seeded, unpack_generator
from diffgan.search.strategies.seeds import check_seeds
from diffgan.search.strategies.settings import read_strategy_settings

if TYPE_CHECKING:
    from diffgan.search.divergence import Divergences

#: Rounds of mutants for one batch, where the gate lets few through.
ROUNDS = 8

#: A batch is full when less than this part of it is empty: small rounds cost more than they bring.
FULL = 8

_OPERATORS = tuple(DRFUZZ.values())


class Drfuzz:
    """DRFuzz, as many iterations side by side as a batch holds.

    Args:
        setup: with labelled images.
        settings: see there.
        name: the strategy's.
        gate: lets mutants through that look as real as the image they come from; None: all that changed.
    """

    def __init__(self, setup: StrategySetup, settings: DrfuzzSettings, *, name: str, gate: Gate | None) -> None:
        check_seeds(setup, name)
        self.name = name
        self._images, self._labels, self._gate = setup.images, setup.labels, gate
        self._size = setup.batch_size
        # A batch may have to show the image that the mutants come from, too.
        self._mutants = max(1, min(settings.mutants, setup.batch_size - 1))
        self._rng = seeded(setup.seed, name)
        self._pool = Pool(setup.images, room=settings.room(setup.images[0].nbytes), most=settings.picks)
        self._counts = OperatorCounts(len(_OPERATORS))
        self._gains: Gains | None = None
        self._chains = self._rng.integers(len(_OPERATORS), size=self._size // self._mutants)
        self._evaluations = 0
        #: The mutants shown, and the operator of each iteration.
        self._asked: tuple[Mutants, NDArray[np.int64]] | None = None

    def warm_up(self) -> None:
        """Nothing to warm up."""

    def close(self) -> None:
        """Nothing to close."""

    def ask(self) -> Batch:
        """Mutants that passed, after the real images among their sources that no model has seen yet."""
        if self._asked is None:
            self._asked = self._next()
        shown = self._asked[0]
        return Batch(shown.images, seed_index=shown.root, parent=shown.parent)

    def tell(
        self,
        outputs_a: NDArray[np.float32],
        outputs_b: NDArray[np.float32],
        divergences: Divergences,
        is_new: NDArray[np.bool_],  # noqa: ARG002 - a label difference counts, known or not
    ) -> None:
        """Rewards operators, and takes promising mutants among the seeds."""
        if self._asked is None:
            raise UsageError(f"The strategy {self.name} was told of images that it did not give: ask first.")
        shown, operators = self._asked
        self._asked = None
        rows, truth = np.arange(len(shown)), self._labels[shown.root]
        trust_a, trust_b = outputs_a[rows, truth], outputs_b[rows, truth]
        as_it_is = shown.iteration == AS_IT_IS
        self._pool.learn(shown.root[as_it_is], trust_b[as_it_is])
        before = np.where(np.isnan(shown.trust), self._pool.trust_of(shown.root), shown.trust)
        paid = rewarding(before, trust_a, trust_b) & ~as_it_is
        np.add.at(self._counts.rewarded, operators[np.unique(shown.iteration[paid])], 1)
        joins = self._promising(shown, outputs_a, outputs_b, ~divergences.triggers & ~as_it_is)
        self._pool.join(
            Seeds(
                images=shown.images[joins],
                root=shown.root[joins],
                generation=shown.generation[joins] + 1,
                evaluation=self._evaluations + joins,
                trust=trust_b[joins],
            )
        )
        self._evaluations += len(shown)

    def state(self) -> State:
        """Seeds, counts, chains, gains and the random generator."""
        return {
            "rng": pack_generator(self._rng),
            "evaluations": np.array([self._evaluations]),
            "chains": self._chains.copy(),
            **self._counts.state(),
            **self._pool.state(),
            **({} if self._gains is None else self._gains.state()),
            **({} if self._gate is None else self._gate.state()),
        }

    def restore(self, state: State) -> None:
        """Goes on from there."""
        self._asked = None
        unpack_generator(self._rng, state["rng"])
        self._evaluations = int(state["evaluations"][0])
        self._chains = state["chains"].copy()
        self._counts.restore(state)
        self._pool.restore(state)
        self._gains = Gains.restored(state)
        if self._gate is not None:
            self._gate.restore(state)

    def facts(self) -> dict[str, Any]:
        """Where the search stands."""
        best = int(self._counts.scores().argmax())
        figures = {
            "iterations": int(self._counts.picked.sum()),
            "joined": self._pool.joined,
            "best": list(DRFUZZ)[best],
        }
        return figures if self._gate is None else {**figures, "passed": round(self._gate.share, 4)}

    def _next(self) -> tuple[Mutants, NDArray[np.int64]]:
        """Rounds of iterations until the batch is full."""
        parts: list[Mutants] = []
        operators: list[NDArray[np.int64]] = []
        nearest: Mutants | None = None
        shown: set[int] = set()
        room = self._size
        for _ in range(ROUNDS):
            iterations = room // self._mutants
            made, chosen, margin = self._round(iterations, first=sum(map(len, operators)))
            passed = margin >= 0
            np.add.at(self._counts.faithful, chosen[np.unique(made.iteration[passed]) - made.iteration[0]], 1)
            nearest = nearest or made.take(np.array([margin.argmax()]))
            parts += [self._unseen(made.root[passed], shown), made.take(np.flatnonzero(passed))]
            operators.append(chosen)
            room = self._size - sum(map(len, parts))
            if room < max(self._mutants, self._size // FULL):
                break
        assert nearest is not None
        # Some image has to be shown: where the gate lets none through, the one that came nearest of the first round.
        whole = joined(parts if any(map(len, parts)) else [nearest])
        order = np.argsort(whole.iteration != AS_IT_IS, kind="stable")
        return whole.take(order[: self._size]), np.concatenate(operators)

    def _round(self, iterations: int, *, first: int) -> tuple[Mutants, NDArray[np.int64], NDArray[np.float64]]:
        """All mutants of some iterations, the operators that made them, and by how much each mutant passes."""
        self._chains[:iterations] = next_operators(self._chains[:iterations], self._counts.scores(), self._rng)
        operators = self._chains[:iterations].copy()
        np.add.at(self._counts.picked, operators, 1)
        seeds = self._pool.pick(iterations, self._rng)
        of = np.repeat(np.arange(iterations), self._mutants)
        parents = seeds.images[of]
        made = Mutants(
            images=mutate(_OPERATORS, operators[of], parents, self._rng),
            iteration=first + of,
            nth=np.tile(np.arange(self._mutants), iterations),
            root=seeds.root[of],
            generation=seeds.generation[of],
            parent=seeds.evaluation[of],
            trust=seeds.trust[of],
        )
        changed = (made.images != parents).reshape(len(made), -1).any(axis=1)
        is_first = first_of_each(fingerprints(made.images))
        margin = np.zeros(len(made)) if self._gate is None else self._gate.margins(made.images, made.root)
        return made, operators, np.where(changed & is_first, margin, -np.inf)

    def _unseen(self, roots: NDArray[np.int64], shown: set[int]) -> Mutants:
        """The real images among the sources of mutants that neither a model has seen nor this batch shows already."""
        unseen = np.unique(roots[np.isnan(self._pool.trust_of(roots))])
        new = unseen[[root not in shown for root in unseen.tolist()]]
        shown.update(new.tolist())
        return Mutants(
            images=self._images[new],
            iteration=np.full(len(new), AS_IT_IS, dtype=np.int64),
            nth=np.zeros(len(new), dtype=np.int64),
            root=new,
            generation=np.zeros(len(new), dtype=np.int64),
            parent=np.full(len(new), NO_PARENT, dtype=np.int64),
            trust=np.full(len(new), np.nan, dtype=np.float32),
        )

    def _promising(
        self,
        shown: Mutants,
        outputs_a: NDArray[np.float32],
        outputs_b: NDArray[np.float32],
        candidates: NDArray[np.bool_],
    ) -> NDArray[np.int64]:
        """Rows of mutants that outdo all before them, first mutants of all iterations before second ones."""
        if self._gains is None:
            self._gains = Gains(outputs_b.shape[1])
        parts = []
        for nth in range(self._mutants):
            rows = np.flatnonzero(candidates & (shown.nth == nth))
            parts.append(rows[self._gains.improve(shown.root[rows], outputs_a[rows], outputs_b[rows])])
        return np.concatenate(parts)


def build_drfuzz(setup: StrategySetup) -> Drfuzz:
    """With a discriminator; see `Drfuzz`."""
    settings = read_strategy_settings(DrfuzzSettings, setup.settings, "drfuzz")
    gate = Gate(setup.required_discriminator("drfuzz", instead="drfuzz-free"), setup.images, setup.labels)
    return Drfuzz(setup, settings, name="drfuzz", gate=gate)


def build_drfuzz_free(setup: StrategySetup) -> Drfuzz:
    """Without a discriminator; see `Drfuzz`."""
    settings = read_strategy_settings(DrfuzzSettings, setup.settings, "drfuzz-free")
    return Drfuzz(setup, settings, name="drfuzz-free", gate=None)
