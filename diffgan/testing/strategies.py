"""What every strategy has to keep, as tests to inherit.

Example:
    ```python
    class TestMyStrategy(StrategyConformance):
        @pytest.fixture
        def factory(self):
            return build_my_strategy
    ```
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from diffgan.generators.generator import Generator
from diffgan.generators.priors import NormalPrior, Prior, UniformPrior
from diffgan.images import ByteImages, ImageSpec
from diffgan.search.clusters import ClusterSettings
from diffgan.search.divergence import Divergences, divergence_named
from diffgan.search.strategies import Batch, Strategy, StrategyFactory, StrategySetup

Outputs = NDArray[np.float32]

_GENES, _SIDE, _CLASSES = 8, 6, 4
_ROUNDS = 6


def small_generator(*, classes: int | None = None, prior: Prior | None = None, seed: int = 0) -> Generator:
    """A generator of 6 x 6 images from 8 genes, untrained: enough to search in."""
    rng = torch.Generator().manual_seed(seed)
    genes = torch.randn((_GENES, _SIDE * _SIDE), generator=rng)
    shapes = torch.randn((classes or 1, _SIDE * _SIDE), generator=rng)

    def network(latents: torch.Tensor, labels: torch.Tensor | None) -> torch.Tensor:
        shape = shapes[torch.zeros(len(latents), dtype=torch.int64) if labels is None else labels]
        return torch.sigmoid(latents @ genes + shape).reshape(-1, 1, _SIDE, _SIDE)

    return Generator(
        name="small",
        latent=_GENES,
        prior=prior or UniformPrior(),
        classes=classes,
        spec=ImageSpec(1, _SIDE, _SIDE),
        fingerprint=f"small-{seed}",
        data=None,
        network=network,
    )


def small_setup(**changes: Any) -> StrategySetup:
    """A setup with a small generator; `changes` are fields of `StrategySetup`."""
    rng = np.random.default_rng(5)
    setup = StrategySetup(
        generator=small_generator(),
        images=rng.integers(0, 256, (40, _SIDE, _SIDE, 1), dtype=np.uint8),
        labels=np.arange(40, dtype=np.int64) % _CLASSES,
        seed=7,
        batch_size=32,
        divergence=divergence_named("euclidean"),
    )
    return replace(setup, **changes)


def small_model(images: ByteImages, seed: int) -> Outputs:
    """Probabilities of four classes: two seeds make two models that disagree on a few images."""
    shape = (images[0].size, _CLASSES)
    weights = np.random.default_rng(0).normal(size=shape) + 0.15 * np.random.default_rng(seed).normal(size=shape)
    logits = (images.reshape(len(images), -1) / 255 - 0.5) @ weights
    exponents = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exponents / exponents.sum(axis=1, keepdims=True), dtype=np.float32)


class FirstImages:
    """`Refits` that need no time: the first three images of an order are the representatives."""

    def __init__(self) -> None:
        self.adopted = np.empty(0, dtype=np.uint8)
        self._ordered = self.adopted

    def begin(self) -> None:
        """Nothing to start."""

    def warm_up(self) -> None:
        """Nothing to warm up."""

    def start(self, images: ByteImages, *, seed: int, settings: ClusterSettings) -> None:  # noqa: ARG002
        """Keeps the order."""
        self._ordered = images

    def result(self, *, within: float | None = None) -> NDArray[np.int64]:  # noqa: ARG002
        """The first three."""
        self.adopted = self._ordered[:3]
        return np.arange(3)

    def close(self) -> None:
        """Nothing to close."""


class SmallSearch:
    """Asks and tells a strategy with two small models, and remembers what is new."""

    def __init__(self, strategy: Strategy, *, seen: set[bytes] | None = None) -> None:
        self.strategy = strategy
        self.seen = set() if seen is None else set(seen)
        self.triggers = 0

    def round(self) -> Batch:
        """One batch."""
        batch = self.strategy.ask()
        a, b = small_model(batch.images, 1), small_model(batch.images, 2)
        found = divergence_named("euclidean")(a, b)
        is_new = np.zeros(len(batch), dtype=np.bool_)
        for row in np.flatnonzero(found.triggers).tolist():
            content = batch.images[row].tobytes()
            is_new[row] = content not in self.seen
            self.seen.add(content)
        self.triggers += int(found.triggers.sum())
        self.strategy.tell(a, b, found, is_new)
        return batch

    def rounds(self, count: int) -> list[Batch]:
        """Several."""
        return [self.round() for _ in range(count)]


def assert_same(one: Batch, other: Batch) -> None:
    """Bit for bit."""
    for field in fields(Batch):
        mine, theirs = getattr(one, field.name), getattr(other, field.name)
        assert (mine is None) == (theirs is None), field.name
        assert mine is None or (mine.dtype == theirs.dtype and np.array_equal(mine, theirs)), field.name


class StrategyConformance:
    """Override `factory`, and `setup` where the strategy needs another."""

    @pytest.fixture
    def factory(self) -> StrategyFactory:
        """Builds the strategy."""
        raise NotImplementedError("override the fixture factory: what builds the strategy from a StrategySetup")

    @pytest.fixture(params=["plain", "conditional", "normal"])
    def setup(self, request: pytest.FixtureRequest) -> StrategySetup:
        """What it is built from: generators of three kinds."""
        kinds = {
            "plain": small_generator(),
            "conditional": small_generator(classes=_CLASSES),
            "normal": small_generator(prior=NormalPrior()),
        }
        return small_setup(generator=kinds[request.param])

    @pytest.fixture
    def strategy(self, factory: StrategyFactory, setup: StrategySetup) -> Iterator[Strategy]:
        """The strategy; `warm_up` only saves time, so it is left out."""
        strategy = factory(setup)
        yield strategy
        strategy.close()

    def test_a_batch_has_a_row_for_each_image_in_the_right_type(self, strategy: Strategy, setup: StrategySetup) -> None:
        """And at most so many rows as the setup allows."""
        for batch in SmallSearch(strategy).rounds(_ROUNDS):
            assert 1 <= len(batch) <= setup.batch_size
            assert batch.images.dtype == np.uint8
            assert batch.images.shape[1:] == setup.images.shape[1:]
            assert batch.latents is None or batch.latents.dtype == np.float32
            for column in (batch.classes, batch.seed_index, batch.parent):
                assert column is None or (column.dtype == np.int64 and column.shape == (len(batch),))

    def test_latents_give_the_images(self, strategy: Strategy, setup: StrategySetup) -> None:
        """Latents and classes are what the generator received, within the bounds of its prior."""
        for batch in SmallSearch(strategy).rounds(_ROUNDS):
            if batch.latents is None or batch.seed_index is not None:
                continue
            assert setup.generator is not None
            assert np.isfinite(batch.latents).all()
            assert np.array_equal(setup.generator.images(batch.latents, batch.classes), batch.images)

    def test_parents_and_seeds_were_there_before(self, strategy: Strategy, setup: StrategySetup) -> None:
        """A parent is an evaluation of an earlier batch; a seed is one of the real images."""
        before = 0
        for batch in SmallSearch(strategy).rounds(_ROUNDS):
            if batch.parent is not None:
                assert batch.parent.min() >= -1
                assert batch.parent.max() < max(before, 0)
            if batch.seed_index is not None:
                assert batch.seed_index.min() >= 0
                assert batch.seed_index.max() < len(setup.images)
            before += len(batch)

    def test_asked_again_before_it_is_told_it_gives_the_same(self, strategy: Strategy) -> None:
        """The search may have stopped in between."""
        SmallSearch(strategy).round()
        assert_same(strategy.ask(), strategy.ask())

    def test_the_same_seed_gives_the_same_search(self, factory: StrategyFactory, setup: StrategySetup) -> None:
        """Bit for bit, whatever else draws random numbers."""
        one, other = factory(setup), factory(setup)
        first = SmallSearch(one).rounds(_ROUNDS)
        np.random.seed(3)
        torch.manual_seed(3)
        for mine, theirs in zip(first, SmallSearch(other).rounds(_ROUNDS), strict=True):
            assert_same(mine, theirs)
        one.close()
        other.close()

    def test_another_seed_gives_another_search(self, factory: StrategyFactory, setup: StrategySetup) -> None:
        """Else the seed is not used."""
        one, other = factory(setup), factory(replace(setup, seed=setup.seed + 1))
        images = [np.concatenate([b.images for b in SmallSearch(s).rounds(3)]) for s in (one, other)]
        assert not np.array_equal(images[0], images[1])
        one.close()
        other.close()

    @pytest.mark.parametrize("stop", [0, 1, 4])
    def test_restored_it_goes_on_as_if_nothing_had_been(
        self, factory: StrategyFactory, setup: StrategySetup, stop: int
    ) -> None:
        """From the bytes of its state, in a strategy that is new or that has searched already."""
        whole, used = SmallSearch(factory(setup)), SmallSearch(factory(setup))
        whole.rounds(stop)
        kept = {name: (array.dtype.str, array.shape, array.tobytes()) for name, array in whole.strategy.state().items()}
        state = {n: np.frombuffer(raw, np.dtype(kind)).reshape(shape).copy() for n, (kind, shape, raw) in kept.items()}
        again = SmallSearch(factory(setup), seen=whole.seen)
        again.strategy.restore(state)
        used.rounds(2)
        used.seen = set(whole.seen)
        used.strategy.restore(state)
        for expected in whole.rounds(_ROUNDS):
            assert_same(expected, again.round())
            assert_same(expected, used.round())
        for search in (whole, again, used):
            search.strategy.close()

    def test_the_state_holds_plain_arrays(self, strategy: Strategy) -> None:
        """Nothing that would have to be pickled."""
        SmallSearch(strategy).rounds(2)
        for name, array in strategy.state().items():
            assert isinstance(name, str)
            assert isinstance(array, np.ndarray)
            assert not array.dtype.hasobject

    def test_facts_can_be_written_as_json(self, strategy: Strategy) -> None:
        """Before the first answer and later."""
        json.dumps(strategy.facts())
        SmallSearch(strategy).rounds(_ROUNDS)
        json.dumps(strategy.facts())

    @pytest.mark.parametrize("always", [False, True])
    def test_a_pair_that_never_or_always_disagrees_is_searched_all_the_same(
        self, strategy: Strategy, always: bool
    ) -> None:
        """Without an error, for as long as it takes; also where the archive knows everything."""
        for turn in range(_ROUNDS):
            batch = strategy.ask()
            a = np.tile(np.array([1, 0, 0, 0], dtype=np.float32), (len(batch), 1))
            b = a[:, ::-1].copy() if always else a.copy()
            triggers = np.full(len(batch), always)
            found = Divergences(np.full(len(batch), 2.4 if always else 0.0), triggers)
            strategy.tell(a, b, found, triggers & (turn % 2 == 0))
        assert len(strategy.ask())

    def test_the_answers_are_left_as_they_were(self, strategy: Strategy) -> None:
        """A strategy must not write into what it is told."""
        batch = strategy.ask()
        a, b = small_model(batch.images, 1), small_model(batch.images, 2)
        found = divergence_named("euclidean")(a, b)
        told: tuple[NDArray[Any], ...] = (a, b, found.amount, found.triggers)
        before = [array.copy() for array in told]
        strategy.tell(a, b, found, found.triggers)
        strategy.ask()
        assert all(np.array_equal(one, other) for one, other in zip(before, told, strict=True))
