"""DRFuzz, DFlare and DiffChaser: what each does of its own, beside what every strategy keeps."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.errors import GeneratorError, UsageError
from diffgan.images import ByteImages
from diffgan.search.divergence import Divergences, divergence_named
from diffgan.search.strategies import Batch, Strategy, StrategySetup, build_strategy
from diffgan.search.strategies.chain import next_operators
from diffgan.search.strategies.dflare_memory import Memory
from diffgan.search.strategies.diffchaser import crossed, sureness
from diffgan.search.strategies.drfuzz_feedback import Gains, OperatorCounts, rewarding
from diffgan.search.strategies.drfuzz_gate import Gate
from diffgan.search.strategies.drfuzz_pool import DECAY, Pool, Seeds
from diffgan.search.strategies.seeds import SeedOrder
from diffgan.testing.strategies import SmallSearch, small_setup

PEERS = ["drfuzz", "drfuzz-free", "dflare", "diffchaser"]


class Brightness:
    """A discriminator that takes light images for real, and remembers what it was asked."""

    def __init__(self) -> None:
        self.classes: list[int] = []

    def score(self, images: ByteImages, classes: NDArray[np.int64] | None = None, /) -> NDArray[np.float64]:
        assert classes is not None
        self.classes += classes.tolist()
        means: NDArray[np.float64] = images.mean(axis=(1, 2, 3))
        return means


def without_generator(**changes: Any) -> StrategySetup:
    return small_setup(**{"generator": None, "discriminator": Brightness(), **changes})


def tell(strategy: Strategy, batch: Batch, *, disagree: NDArray[np.bool_] | bool = False, sure: float = 1.0) -> None:
    """Both models are as sure of class 0; where they disagree, B says 1."""
    a = np.full((len(batch), 4), (1 - sure) / 3, dtype=np.float32)
    a[:, 0] = sure
    b = a.copy()
    rows = np.broadcast_to(np.asarray(disagree), (len(batch),))
    b[rows] = b[rows][:, [1, 0, 2, 3]]
    strategy.tell(a, b, Divergences(np.zeros(len(batch)), rows.copy()), rows.copy())


@pytest.mark.parametrize("name", PEERS)
def test_each_needs_seeds_of_a_classification(name: str) -> None:
    empty = {"images": np.empty((0, 6, 6, 1), dtype=np.uint8), "labels": np.empty(0, dtype=np.int64)}
    with pytest.raises(UsageError, match=f"{name} starts from labelled images"):
        build_strategy(name, without_generator(**empty))
    with pytest.raises(UsageError, match=f"{name} is for classification, but the divergence is for regression"):
        build_strategy(name, without_generator(divergence=divergence_named("absolute", threshold=1)))


@pytest.mark.parametrize("name", PEERS)
def test_every_image_names_its_seed(name: str) -> None:
    batches = SmallSearch(build_strategy(name, without_generator())).rounds(8)
    assert all(batch.seed_index is not None and batch.latents is None for batch in batches)
    assert max(batch.parent.max() for batch in batches if batch.parent is not None) >= 0


@pytest.mark.parametrize("name", ["drfuzz", "drfuzz-free", "dflare"])
def test_a_batch_of_one_is_no_hindrance(name: str) -> None:
    strategy = build_strategy(name, without_generator(batch_size=1))
    for _ in range(12):
        batch = strategy.ask()
        assert len(batch) == 1
        tell(strategy, batch)


def test_drfuzz_shows_mutants_in_small_batches_too() -> None:
    setup = without_generator(batch_size=5)
    strategy = build_strategy("drfuzz-free", setup)
    for _ in range(12):
        batch = strategy.ask()
        assert batch.seed_index is not None
        changed = (batch.images != setup.images[batch.seed_index]).reshape(len(batch), -1).any(axis=1)
        assert 1 <= changed.sum() <= 4
        tell(strategy, batch)


def test_drfuzz_shows_each_seed_once_as_it_is() -> None:
    setup = without_generator()
    strategy = build_strategy("drfuzz-free", setup)
    shown: list[int] = []
    for _ in range(20):
        batch = strategy.ask()
        assert batch.seed_index is not None
        same = (batch.images == setup.images[batch.seed_index]).reshape(len(batch), -1).all(axis=1)
        shown += batch.seed_index[same].tolist()
        tell(strategy, batch)
    assert len(shown) > 20
    assert len(set(shown)) == len(shown)


def test_drfuzz_shows_no_mutant_that_looks_less_real_than_its_seed() -> None:
    setup = without_generator(batch_size=256)
    strategy = build_strategy("drfuzz", setup)
    for _ in range(5):
        batch = strategy.ask()
        assert batch.seed_index is not None
        assert (batch.images.mean(axis=(1, 2, 3)) >= setup.images[batch.seed_index].mean(axis=(1, 2, 3))).all()
        tell(strategy, batch)
    assert 0 < strategy.facts()["passed"] < 0.9


def test_where_nothing_passes_the_nearest_is_shown() -> None:
    """All seeds are white, so that no change makes them lighter; a search must not stand still."""
    white = np.full((3, 6, 6, 1), 255, dtype=np.uint8)
    strategy = build_strategy("drfuzz", without_generator(images=white, labels=np.zeros(3, dtype=np.int64)))
    batch = strategy.ask()
    assert len(batch) == 1
    assert batch.images.min() < 255


def test_drfuzz_asks_for_a_discriminator_or_names_the_way_without() -> None:
    with pytest.raises(UsageError, match=r"drfuzz asks a discriminator .* --strategy drfuzz-free") as caught:
        build_strategy("drfuzz", without_generator(discriminator=None))
    assert "\n" not in str(caught.value)


def test_the_gate_compares_with_the_source_and_asks_about_that_once() -> None:
    images = np.stack([np.full((2, 2, 1), tone, dtype=np.uint8) for tone in (50, 100)])
    asked = Brightness()
    gate = Gate(asked, images, np.array([7, 8]))
    mutants = np.full((3, 2, 2, 1), 60, dtype=np.uint8)
    assert gate.margins(mutants, np.array([0, 1, 1])).tolist() == [10, -40, -40]
    assert asked.classes == [7, 8, 7, 8, 8]
    gate.margins(mutants[:1], np.array([1]))
    assert asked.classes[5:] == [8]
    assert gate.share == 0.25


def test_a_discriminator_of_another_form_is_told() -> None:
    class Broken:
        def score(self, images: ByteImages, classes: NDArray[np.int64] | None = None, /) -> NDArray[np.float64]:
            return np.zeros((len(images), 2))

    with pytest.raises(GeneratorError, match=r"shape \(\d+, 2\) .* drfuzz-free"):
        build_strategy("drfuzz", without_generator(discriminator=Broken())).ask()


def pool(**changes: Any) -> Pool:
    return Pool(np.zeros((3, 1, 1, 1), dtype=np.uint8), **{"room": 2, "most": 1, **changes})


def mutants(*tones: int, generation: int = 1) -> Seeds:
    count = len(tones)
    return Seeds(
        images=np.array(tones, dtype=np.uint8).reshape(count, 1, 1, 1),
        root=np.ones(count, dtype=np.int64),
        generation=np.full(count, generation),
        evaluation=np.arange(count),
        trust=np.full(count, 0.5, dtype=np.float32),
    )


def test_seeds_weigh_less_the_older_and_the_more_often_picked() -> None:
    seeds = pool(most=10)
    seeds.join(mutants(10, generation=4))
    assert seeds.weights() == pytest.approx([1, 1, 1, np.exp(-4 * DECAY)])
    before = seeds.weights()
    rng = np.random.default_rng(0)
    picked = seeds.pick(6, rng)
    assert (len(picked.root), len(picked.images)) == (6, 6)
    assert np.log(before / seeds.weights()).sum() == pytest.approx(6 * DECAY / 2)
    assert np.exp(-20 * DECAY) == pytest.approx(1 / 20)


def test_who_was_picked_too_often_waits_until_all_were() -> None:
    seeds = pool(most=0)
    rng = np.random.default_rng(0)
    seen = [seeds.pick(1, rng).root.item() for _ in range(6)]
    assert sorted(seen[:3]) == sorted(seen[3:]) == [0, 1, 2]


def test_the_oldest_mutant_makes_room() -> None:
    seeds = pool(most=1000)
    for tone in (10, 20, 30):
        seeds.join(mutants(tone))
    assert len(seeds) == 5
    drawn = seeds.pick(200, np.random.default_rng(0)).images.ravel()
    assert set(drawn.tolist()) == {0, 20, 30}
    seeds.join(mutants(40, 50, 60, 70))
    assert set(seeds.pick(200, np.random.default_rng(0)).images.ravel().tolist()) == {0, 60, 70}


def test_rewards_weigh_the_change_in_b_twice_the_distance_from_a() -> None:
    # ⅔ (0.5 - 0.4) + ⅓ (0.3 - 0.4) = 0.033; ⅔ (0.5 - 0.4) + ⅓ (0.1 - 0.4) = -0.033
    given = rewarding(*(np.array(values, dtype=np.float32) for values in ([0.5, 0.5], [0.3, 0.1], [0.4, 0.4])))
    assert given.tolist() == [True, False]


def test_operators_are_scored_by_rewards_and_faithful_picks() -> None:
    counts = OperatorCounts(3)
    counts.picked[:], counts.faithful[:], counts.rewarded[:] = [0, 4, 2], [0, 2, 2], [0, 2, 1]
    assert counts.scores().tolist() == [1, 0.25, 0.5]


def test_a_mutant_joins_that_has_more_of_another_class_than_all_before() -> None:
    gains, root = Gains(3), np.array([5])
    a = np.array([[0.7, 0.2, 0.1]], dtype=np.float32)

    def improves(*b: float) -> bool:
        return bool(gains.improve(root, a, np.array([b], dtype=np.float32))[0])

    assert not improves(0.9, 0.05, 0.05)
    assert improves(0.6, 0.3, 0.1)
    assert not improves(0.6, 0.3, 0.1)
    assert improves(0.5, 0.25, 0.25)
    # The label of B is another now, and with it the row of the table.
    assert improves(0.3, 0.5, 0.2)


def test_an_operator_of_better_rank_is_always_taken_and_a_worse_one_seldom() -> None:
    rng = np.random.default_rng(0)
    scores = np.array([0.0, 0.0, 5.0, 0.0])
    reached = np.bincount(next_operators(np.zeros(40_000, dtype=np.int64), scores, rng), minlength=4) / 40_000
    # From rank 1 (of 0-based): ranks 2, 0, 1, 3 are accepted with 1, 1, ¾, ¾²; shares in proportion.
    weights = np.array([1, 0.75, 1, 0.75**2])
    assert reached == pytest.approx(weights / weights.sum(), abs=0.01)


def test_seeds_come_once_in_each_pass_and_in_other_orders() -> None:
    order = SeedOrder(5, 0, "x")
    passes = [order.take(3).tolist() + order.take(2).tolist() for _ in range(3)]
    assert all(sorted(one) == list(range(5)) for one in passes)
    assert len({tuple(one) for one in passes}) > 1
    assert order.passes == 3
    again = SeedOrder(5, 0, "x")
    again.taken = 5
    assert again.take(10).tolist() == passes[1] + passes[2]


def test_dflare_shows_the_seed_first_and_leaves_it_at_the_first_disagreement() -> None:
    setup = without_generator(batch_size=8)
    strategy = build_strategy("dflare", setup)
    first = strategy.ask()
    assert first.seed_index is not None
    assert np.array_equal(first.images, setup.images[first.seed_index])
    disagree = np.zeros(8, dtype=np.bool_)
    disagree[[1, 4]] = True
    tell(strategy, first, disagree=disagree)
    second = strategy.ask()
    assert second.seed_index is not None
    assert (second.seed_index == first.seed_index).tolist() == (~disagree).tolist()
    assert np.array_equal(second.images[disagree], setup.images[second.seed_index[disagree]])
    assert strategy.facts() == {"solved": 2, "given_up": 0, "passes": 0}


def test_dflare_goes_on_from_what_it_accepted() -> None:
    setup = without_generator(batch_size=4)
    strategy = build_strategy("dflare", setup)
    tell(strategy, strategy.ask(), sure=1.0)
    batch = strategy.ask()
    # The squared distance of the answers is 2 · (0.36 + 3 · 0.04) = 0.96, more than 0.5: something new.
    tell(strategy, batch, sure=0.4)
    following = strategy.ask()
    assert following.parent is not None
    assert following.parent.tolist() == [4, 5, 6, 7]
    # Nothing new any more, and no greater difference: the parent stays.
    tell(strategy, following, sure=0.4)
    later = strategy.ask()
    assert later.parent is not None
    assert later.parent.tolist() == [4, 5, 6, 7]


def test_dflare_accepts_a_greater_difference_of_the_top_probabilities() -> None:
    strategy = build_strategy("dflare", without_generator(batch_size=2))
    tell(strategy, strategy.ask(), sure=0.9)
    batch = strategy.ask()
    a = np.tile(np.array([0.9, 0.1, 0, 0], dtype=np.float32), (2, 1))
    b = np.array([[0.8, 0.2, 0, 0], [0.8995, 0.1005, 0, 0]], dtype=np.float32)
    strategy.tell(a, b, Divergences(np.zeros(2), np.zeros(2, dtype=np.bool_)), np.zeros(2, dtype=np.bool_))
    following = strategy.ask()
    assert following.parent is not None
    assert following.parent.tolist() == [2, -1]
    assert batch.parent is not None
    assert batch.parent.tolist() == [-1, -1]


def test_a_seed_that_leads_nowhere_is_given_up() -> None:
    for name, rounds in (("dflare", 4), ("diffchaser", 4)):
        strategy = build_strategy(name, without_generator(settings={"patience": 3}))
        first = strategy.ask().seed_index
        for _ in range(rounds):
            tell(strategy, strategy.ask())
        last = strategy.ask().seed_index
        assert first is not None
        assert last is not None
        assert not set(first[:1].tolist()) & set(last[:1].tolist())
        assert strategy.facts()["given_up"] > 0


def test_memory_is_by_lane() -> None:
    memory = Memory(0.5)
    answers = np.eye(2, dtype=np.float32)
    assert memory.is_far(answers).all()
    memory.remember(answers, np.array([0, 1]))
    assert not memory.is_far(answers).any()
    assert memory.is_far(answers[::-1]).all()
    memory.forget(np.array([1]))
    assert memory.is_far(answers).tolist() == [False, True]


def test_diffchaser_keeps_the_best_and_does_not_show_it_again() -> None:
    setup = without_generator(batch_size=4, settings={"population": 4})
    strategy = build_strategy("diffchaser", setup)
    first = strategy.ask()
    assert len(first) == 4
    assert first.seed_index is not None
    assert np.array_equal(first.images[0], setup.images[first.seed_index[0]])
    sure = np.array([0.9, 0.6, 0.7, 0.8], dtype=np.float32)
    outputs = np.stack([sure, 1 - sure, 0 * sure, 0 * sure], axis=1)
    none = np.zeros(4, dtype=np.bool_)
    strategy.tell(outputs, outputs, Divergences(np.zeros(4), none), none)
    second = strategy.ask()
    assert len(second) == 3
    state = strategy.state()
    assert np.array_equal(state["lanes/image"][0, 0], first.images[1])
    assert state["lanes/sureness"][0, 0] == pytest.approx(0.2)
    assert second.parent is not None
    assert set(second.parent.tolist()) <= {0, 1, 2, 3}


def test_diffchaser_leaves_a_seed_that_has_a_trigger() -> None:
    strategy = build_strategy("diffchaser", without_generator())
    first = strategy.ask()
    disagree = np.zeros(len(first), dtype=np.bool_)
    disagree[3] = True
    tell(strategy, first, disagree=disagree)
    second = strategy.ask()
    assert first.seed_index is not None
    assert second.seed_index is not None
    assert (second.seed_index[:16] != first.seed_index[0]).all()
    assert second.seed_index[-1] == first.seed_index[-1]


def test_a_population_has_to_fit_the_batch() -> None:
    with pytest.raises(UsageError, match="population of 16 whole, which does not fit a batch of 8"):
        build_strategy("diffchaser", without_generator(batch_size=8))


def test_sureness_is_the_distance_of_the_greatest() -> None:
    outputs = np.array([[0.1, 0.5, 0.3, 0.1], [0.25, 0.25, 0.25, 0.25]], dtype=np.float32)
    assert sureness(outputs, 2) == pytest.approx([0.2, 0])
    assert sureness(outputs, 3) == pytest.approx([0.6, 0])
    assert sureness(outputs, 9) == pytest.approx([1.0, 0])


def test_a_crossover_takes_a_rectangle_from_the_other() -> None:
    first, second = np.zeros((200, 6, 8, 1), dtype=np.uint8), np.ones((200, 6, 8, 1), dtype=np.uint8)
    children = crossed(first, second, np.random.default_rng(0))[..., 0]
    heights, widths = children.any(axis=2).sum(axis=1), children.any(axis=1).sum(axis=1)
    assert np.array_equal(children.sum(axis=(1, 2)), heights * widths)
    assert (heights.max(), widths.max()) == (3, 4)


def test_settings_that_do_not_fit_are_named() -> None:
    for name, setting in (("drfuzz-free", "mutants"), ("dflare", "patience"), ("diffchaser", "population")):
        with pytest.raises(UsageError, match=f"{setting} = 0 does not fit the strategy {name}"):
            build_strategy(name, replace(without_generator(), settings={setting: 0}))
