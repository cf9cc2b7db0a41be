"""The screen: which children the models are shown, what it learns, and when it pays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search import screen as screening
from diffgan.search.budgets import Budget
from diffgan.search.clock import SearchClock
from diffgan.search.divergence import divergence_named
from diffgan.search.evaluation import Evaluator
from diffgan.search.loop import Search
from diffgan.search.mimic import Mimic
from diffgan.search.novelty import Novelty
from diffgan.search.screen import MOST, Screen
from diffgan.search.stopwatch import Stopwatch
from diffgan.search.strategies import build_strategy
from diffgan.search.strategies.nsga2 import Nsga2
from diffgan.search.strategies.protocol import NO_PARENT
from diffgan.search.thumbnails import thumbnails
from diffgan.testing.strategies import SmallSearch, small_setup
from tests.search.pairs import pair
from tests.search.test_loop import content, create, setup

FIXED = {"mode": "bounded", "first": 1_000_000}


class Bright:
    """Recognises images with a bright first pixel; its features are the pixels."""

    def __call__(self, images: ByteImages) -> NDArray[np.bool_]:
        return self.glance(images)[0]

    def glance(self, images: ByteImages) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
        return images[:, 0, 0, 0] > 99, (images.reshape(len(images), -1) / 255).astype(np.float32)


def outputs(labels: NDArray[np.int64], classes: int = 3) -> NDArray[np.float32]:
    return np.eye(classes, dtype=np.float32)[labels]


def images_of(count: int, seed: int = 0) -> ByteImages:
    return np.random.default_rng(seed).integers(100, 255, (count, 4, 4, 1), dtype=np.uint8)


def test_a_mimic_learns_where_two_models_part_and_on_what_labels() -> None:
    rng, mimic = np.random.default_rng(0), Mimic()
    for _ in range(60):
        features = rng.normal(size=(256, 5)).astype(np.float32)
        label_a = (features[:, 0] > 0).astype(np.int64)
        mimic.learn(features, label_a, np.where(features[:, 1] > 0, label_a, 2), 3)
    assert mimic.seen == 60 * 256
    sure = 2 * np.array([[2, 2, 0, 0, 0], [2, -2, 0, 0, 0], [-2, -2, 0, 0, 0]], dtype=np.float32)
    probable, cells = mimic.predict(sure)
    assert probable[0] < 0.1
    assert (probable[1:] > 0.9).all()
    assert cells[1:].tolist() == [1 * 3 + 2, 0 * 3 + 2]
    again = Mimic()
    kept = mimic.state()
    weights = kept["weights"].copy()
    again.restore(kept)
    np.testing.assert_array_equal(again.predict(sure)[0], probable)
    for one in (mimic, again):
        one.learn(sure, np.array([0, 1, 2]), np.array([0, 1, 2]), 3)
    np.testing.assert_array_equal(again.predict(sure)[0], mimic.predict(sure)[0])
    np.testing.assert_array_equal(kept["weights"], weights)


def test_the_likeliest_pair_of_labels_differs_even_where_both_are_likeliest_the_same() -> None:
    mimic = Mimic()
    features = np.zeros((128, 1), dtype=np.float32)
    for _ in range(1500):  # A: 60 % 0, 40 % 1; B: 70 % 0, 30 % 2
        mimic.learn(features, np.arange(128) % 5 // 3, np.arange(128) % 10 // 7 * 2, 3)
    assert mimic.predict(features[:1])[1].tolist() == [1 * 3 + 0]  # .4 x .7 beats .6 x .3
    assert mimic.predict(features[:1])[0][0] == pytest.approx(1 - 0.6 * 0.7, abs=0.02)


def test_the_recognisable_come_first_then_the_probable_and_nothing_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "WARM", 1)
    novelty = Novelty(0.0005)
    screen = Screen(Bright(), novelty, 2, cell_share=1)
    images = images_of(400)
    dark = images.copy()
    dark[:, 0, 0, 0] = 0
    # Both disagree where the second pixel is bright.
    for _ in range(60):
        shown = images_of(256, seed=1 + _)
        assert len(screen.chosen(shown, 256)) == 256
        labels = np.zeros(256, dtype=np.int64)
        screen.learn(outputs(labels), outputs(np.where(shown[:, 0, 1, 0] > 177, 1, 0)))
    apart = images[images[:, 0, 1, 0] > 200][:20]
    same = images[images[:, 0, 1, 0] < 150][:20]
    offered = np.concatenate([dark[:20], same, apart, apart])
    assert screen.chosen(offered, 40).tolist() == list(range(20, 60))
    assert screen.chosen(offered, 20).tolist() == list(range(40, 60))
    novelty.admit(thumbnails(apart), np.full(20, 0 * 3 + 1))
    assert screen.chosen(offered, 20).tolist() == list(range(20, 40))


def test_no_cell_has_more_of_the_children_than_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "WARM", 1)
    images = images_of(400)
    # B says 1 where the second pixel is bright, else 2 where the third one is, else what A says.
    second, third = images[:, 0, 1, 0] > 177, images[:, 0, 2, 0] > 177
    often = images[second & ~third][:30]
    seldom = images[~second & third][:6]

    def often_among(cell_share: float) -> int:
        screen = Screen(Bright(), Novelty(0.0), 2, cell_share=cell_share)
        for seed in range(60):
            shown = images_of(256, seed=1 + seed)
            screen.chosen(shown, 256)
            said = np.where(shown[:, 0, 1, 0] > 177, 1, np.where(shown[:, 0, 2, 0] > 177, 2, 0))
            screen.learn(outputs(np.zeros(256, dtype=np.int64)), outputs(said))
        return int((screen.chosen(np.concatenate([often, seldom]), 10) < len(often)).sum())

    assert often_among(1) == 8
    # Seven tenths of 0.71 of 10 is 5 for each of the two.
    assert often_among(0.71) == 5


def test_it_pays_until_making_children_costs_what_the_models_do() -> None:
    def decided(making: float, models: float) -> int:
        screen = Screen(Bright(), Novelty(0.1), None, cell_share=1)
        screen.cost(1e9, 0.0)  # the first batch compiles, and does not count
        for _ in range(3):
            screen.cost(making, models)
            assert screen.state()["times"].tolist() == [0]
            assert screen.times == MOST
        screen.cost(making, models)
        return screen.times

    assert decided(1.0, 0.4) == 1
    assert decided(1.0, 2.6) == 3
    assert decided(1.0, 99.0) == MOST
    assert decided(0.0, 1.0) == MOST
    given = Screen(Bright(), Novelty(0.1), 2, cell_share=1)
    for _ in range(9):
        given.cost(1.0, 99.0)
    assert given.times == 2


def test_what_a_clock_decided_does_not_hold_where_a_count_may_end_the_search() -> None:
    timed = Screen(Bright(), Novelty(0.1), None, cell_share=1)
    for _ in range(5):
        timed.cost(1.0, 0.4)
    assert timed.times == 1
    counted = Screen(Bright(), Novelty(0.1), MOST, cell_share=1)
    counted.restore(timed.state())
    assert counted.times == MOST
    assert counted.asks
    again = Screen(Bright(), Novelty(0.1), None, cell_share=1)
    again.restore(timed.state())
    assert again.times == 1


def searching(**changes: Any) -> Nsga2:
    settings = {"population": 32, "diversity": FIXED, **changes.pop("settings", {})}
    made = build_strategy("nsga2", small_setup(recognises=Bright(), settings=settings, **changes))
    assert isinstance(made, Nsga2)
    return made


def test_where_no_clock_ends_the_search_four_are_made_for_each_one_shown() -> None:
    strategy = searching()
    search = SmallSearch(strategy)
    search.rounds(5)
    batch = search.round()
    assert len(batch) == 32
    assert strategy.facts()["made"] == 6 * 32 * MOST
    assert Bright()(batch.images).all()
    assert batch.classes is None
    none = searching(settings={"screen": 1})
    SmallSearch(none).rounds(5)
    assert none.facts()["made"] == 5 * 32


def test_where_a_clock_does_what_they_cost_decides_and_is_kept() -> None:
    strategy = searching(clock=SearchClock(60.0))
    SmallSearch(strategy).rounds(5)
    assert strategy.facts()["made"] == 5 * 32 * MOST
    SmallSearch(strategy).rounds(1)  # the stopwatch says that the models took no time
    state = strategy.state()
    assert state["screen/times"].tolist() == [1]
    assert "screen/weights" not in state
    again = searching(clock=SearchClock(60.0))
    again.restore(state)
    SmallSearch(again).rounds(2)
    assert again.facts()["made"] == 5 * 32 * MOST + 3 * 32


def test_where_a_count_may_end_it_too_no_clock_decides() -> None:
    strategy = searching(clock=SearchClock(60.0), counted=True)
    SmallSearch(strategy).rounds(8)
    assert strategy.facts()["made"] == 8 * 32 * MOST


@pytest.mark.parametrize(
    ("settings", "made"),
    [
        # Each batch is chosen from 1,024.
        ({}, 32 * 1024),
        ({"screen": 3}, (16 * 64 + 8 * 128 + 8 * 256) * 3),
        ({"screen": 1}, 16 * 64 + 8 * 128 + 8 * 256),
    ],
)
def test_small_first_batches_are_chosen_from_a_full_one(settings: dict[str, int], made: int) -> None:
    strategy = searching(settings={"population": 1024, **settings}, batch_size=1024)
    search = SmallSearch(strategy)
    assert sum(len(search.round()) for _ in range(32)) == 4096
    assert strategy.facts()["made"] == made


def test_a_batch_that_a_generation_cannot_fill_is_not_a_small_one() -> None:
    strategy = searching(settings={"population": 64}, batch_size=4096)
    SmallSearch(strategy).rounds(4)
    assert strategy.facts()["made"] == 4 * 64 * MOST


@pytest.mark.parametrize(("finds", "first"), [(100, 256), (0, 1024)])
def test_the_first_generation_is_small_where_finds_breed(finds: int, first: int) -> None:
    strategy = searching(settings={"population": 1024, "finds": finds})
    search = SmallSearch(strategy)
    drawn = 0
    while not strategy.facts()["generation"]:
        batch = search.round()
        drawn += len(batch)
        assert batch.parent is not None
        assert (batch.parent == NO_PARENT).all()
    assert drawn == first


def test_a_recogniser_without_a_first_look_is_asked_about_triggers_only() -> None:
    strategy = build_strategy(
        "nsga2",
        small_setup(
            recognises=lambda images: np.ones(len(images), dtype=np.bool_),
            settings={"population": 32, "diversity": FIXED},
        ),
    )
    SmallSearch(strategy).rounds(3)
    assert strategy.facts()["made"] == 3 * 32


@pytest.mark.parametrize("stop_at", [50, 130, 400])
def test_resumed_equals_uninterrupted(tmp_path: Path, stop_at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(screening, "WARM", 100)

    def search(archive: Any) -> Search:
        strategy = build_strategy("nsga2", replace(setup(population=100), recognises=Bright()))
        evaluator = Evaluator(*pair(), divergence_named("euclidean"))
        budget = Budget(evaluations=800)
        return Search(strategy, evaluator, archive, budget, clock=SearchClock(), stopwatch=Stopwatch())

    with create(tmp_path / "whole.db") as archive:
        search(archive).run()
        whole = content(archive)
    with create(tmp_path / "parts.db") as archive:
        first = search(archive)
        first.run(lambda moment: first.stop() if moment.spent.evaluations >= stop_at else None)
        second = search(archive)
        assert second.restore()
        second.run()
        assert content(archive) == whole
        assert second.moment().facts["made"] == 800 * MOST
