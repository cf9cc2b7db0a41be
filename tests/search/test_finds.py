"""The finds: who is taken in, who breeds, and who makes room."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.novelty import Novelty
from diffgan.search.strategies import build_strategy
from diffgan.search.strategies.breeding import Genome
from diffgan.search.strategies.finds import Finds
from diffgan.search.strategies.nsga2 import Nsga2
from diffgan.search.strategies.nsga2_broods import Given, bred_by_finds
from diffgan.search.strategies.nsga2_settings import Nsga2Settings
from diffgan.search.strategies.population import Population
from diffgan.testing.strategies import SmallSearch, small_setup

WEIGHTS = np.ones(2)
FIXED: Mapping[str, Any] = {"mode": "bounded", "first": 1_000_000}


def finds(**changes: Any) -> Finds:
    settings: dict[str, Any] = {"most": 100, "cell_share": 1.0, "explore": 0.0, "recognises": None}
    return Finds(2, **(settings | {"novelty": Novelty(0.0)} | changes))


def candidates(*cells: int, divergence: Any = 1.0, diversity: Any = 1.0) -> Population:
    count = len(cells)
    return Population(
        points=np.arange(2 * count, dtype=np.float32).reshape(count, 2),
        classes=np.zeros(count, dtype=np.int64),
        divergence=np.broadcast_to(np.asarray(divergence, dtype=np.float64), count).copy(),
        diversity=np.broadcast_to(np.asarray(diversity, dtype=np.float64), count).copy(),
        cell=np.array(cells, dtype=np.int64),
        evaluation=np.arange(count),
        matings=np.zeros(count, dtype=np.int64),
        fingerprint=np.arange(count, dtype=np.uint64),
        known=np.zeros(count, dtype=np.bool_),
    )


def distinct_images(count: int) -> ByteImages:
    return np.random.default_rng(7).integers(0, 255, (count, 6, 6, 1), dtype=np.uint8)


def taken(chosen: Finds, given: Population, images: ByteImages | None = None) -> Finds:
    shown = distinct_images(len(given)) if images is None else images
    rows = chosen.admitted(shown, given.cell)
    chosen.add(given.take(rows), weights=WEIGHTS, rng=np.random.default_rng(0))
    return chosen


def test_only_what_is_recognised_and_distinct_comes_in() -> None:
    images = distinct_images(4)
    images[3] = images[0]
    first_three: Callable[[ByteImages], NDArray[np.bool_]] = lambda shown: shown[:, 0, 0, 0] != images[1, 0, 0, 0]  # noqa: E731
    made = taken(finds(recognises=first_three, novelty=Novelty(0.01)), candidates(0, 0, 0, 0), images)
    assert made.members.evaluation.tolist() == [0, 2]
    assert (made.recognised, made.distinct) == (3, 2)


def test_who_was_a_parent_less_often_wins_so_all_have_about_as_many_children() -> None:
    made = taken(finds(), candidates(*[0] * 20))
    rng = np.random.default_rng(1)
    for _ in range(50):
        made.parents(20, weights=WEIGHTS, rng=rng)
    assert made.members.matings.sum() == 1000
    assert made.members.matings.max() - made.members.matings.min() <= 20


def test_among_those_as_often_parents_the_one_that_dominates_wins() -> None:
    made = taken(finds(), candidates(0, 0, divergence=[1.0, 2.0], diversity=[1.0, 2.0]))
    winners, _ = made.parents(400, weights=WEIGHTS, rng=np.random.default_rng(0))
    assert (winners == 1).mean() == pytest.approx(0.75, abs=0.07)  # it loses only where it does not stand


def test_no_cell_has_more_than_its_share_of_the_matings() -> None:
    made = taken(finds(cell_share=0.25, most=200), candidates(*[0] * 90, *[1] * 4, *[2] * 3, *[3] * 3, 4, 5, 6, 7))
    winners, mates = made.parents(4000, weights=WEIGHTS, rng=np.random.default_rng(0))
    cells = made.members.cell
    # By the roots of their sizes, the first would have 0.5. What is left goes to the others by theirs: 2 of 9.46.
    assert (cells[winners] == 0).mean() == pytest.approx(0.25, abs=0.03)
    assert (cells[winners] == 1).mean() == pytest.approx(0.75 * 2 / (2 + 2 * 3**0.5 + 4), abs=0.02)
    assert (cells[winners] == cells[mates]).all()


def test_as_long_as_cells_are_thin_some_of_the_matings_go_evenly_to_all() -> None:
    made = taken(finds(explore=0.6, most=200), candidates(*[0] * 100, *[1] * 64, *[2] * 4, 3))
    # Two of four cells have fewer than 64.
    assert made.exploring == pytest.approx(0.3)
    winners, _ = made.parents(8000, weights=WEIGHTS, rng=np.random.default_rng(0))
    roots = np.sqrt([100, 64, 4, 1])
    expected = 0.7 * roots / roots.sum() + 0.3 / 4
    assert np.bincount(made.members.cell[winners]) / 8000 == pytest.approx(expected, abs=0.02)


def test_where_no_cell_is_thin_nothing_explores() -> None:
    assert finds(explore=1.0).exploring == 0
    assert taken(finds(explore=1.0, most=200), candidates(*[0] * 64, *[1] * 65)).exploring == 0


def test_classes_are_drawn_anew_the_more_often_the_more_the_search_explores() -> None:
    settings = Nsga2Settings(class_mutation=0.03)
    assert settings.class_rate(0.0) == 0.03
    assert settings.class_rate(0.4) == pytest.approx(0.13)
    assert Nsga2Settings(class_mutation=0.9).class_rate(0.8) == 1


def test_children_of_finds_get_another_class_as_often_as_the_search_explores() -> None:
    made = taken(finds(explore=1.0), candidates(*[0] * 4, *[1] * 4))
    settings = Nsga2Settings(class_mutation=0.0)
    genome = Genome(genes=2, bounds=(0.0, 32.0), classes=10)
    bred = bred_by_finds(made, 4000, Given(WEIGHTS, np.random.default_rng(0), genome, settings))
    # All cells are thin, so a quarter is drawn anew, and one in ten of those is the class that it was (0).
    assert (bred.classes != 0).mean() == pytest.approx(0.225, abs=0.03)


def test_the_most_used_make_room_and_stay_remembered() -> None:
    made = finds(most=30, novelty=Novelty(0.001))
    images = distinct_images(31)
    taken(made, candidates(*[0] * 30), images[:30])
    made.members = replace(made.members, matings=np.arange(30)[::-1].copy())
    taken(made, candidates(0), images[30:])
    # 31 are cut to 30 less a quarter: the 22 who were parents least often stay, and the new one.
    assert made.members.evaluation.tolist() == [*range(8, 30), 0]
    assert made.distinct == 31
    taken(made, candidates(*[0] * 30), images[:30])
    assert len(made) == 23


def test_those_that_are_forgotten_count() -> None:
    made = finds(novelty=Novelty(0.001, most=16))
    taken(made, candidates(*[0] * 31), distinct_images(31))
    assert (made.distinct, len(made.novelty)) == (31, 7)  # 31 less 16 less 8


def test_state_brings_all_back() -> None:
    made = taken(finds(novelty=Novelty(0.01)), candidates(0, 1, 1))
    made.parents(5, weights=WEIGHTS, rng=np.random.default_rng(0))
    again = finds(novelty=Novelty(0.01))
    again.restore(made.state())
    for name, column in made.members.to_state("").items():
        assert (again.members.to_state("")[name] == column).all()
    assert (again.recognised, again.distinct) == (made.recognised, made.distinct)
    former = made.state() | {"recognised": made.state()["recognised"][:2]}  # as it was before they were counted
    again.restore(former)
    assert again.distinct == len(made.novelty)
    empty = finds()
    empty.restore(finds().state())
    assert len(empty) == 0


def searching(**settings: Any) -> Nsga2:
    made = build_strategy("nsga2", small_setup(settings={"population": 32, "diversity": FIXED, **settings}))
    assert isinstance(made, Nsga2)
    return made


def test_children_descend_from_finds_as_soon_as_there_are_some() -> None:
    strategy = searching(fresh=0.25, distinct=0.01)
    search = SmallSearch(strategy)
    search.rounds(5)
    found = set(strategy.state()["finds/members/evaluation/0"].tolist())
    parents = search.round().parent
    assert parents is not None
    assert strategy.facts()["finds"] > 0
    assert set(parents[parents >= 0].tolist()) <= found
    assert (parents < 0).sum() == 8


@pytest.mark.parametrize(("finds", "sizes"), [(100, [64] * 16 + [128] * 8 + [256]), (0, [512] * 5)])
def test_where_finds_lead_the_first_batches_are_small(finds: int, sizes: list[int]) -> None:
    settings = {"population": 2048, "finds": finds, "diversity": FIXED}
    strategy = build_strategy("nsga2", small_setup(batch_size=512, settings=settings))
    search = SmallSearch(strategy)
    assert [len(search.round()) for _ in sizes] == sizes


def test_where_few_are_found_the_population_breeds_the_rest() -> None:
    strategy = searching(fresh=0.0, distinct=0.9, reach=1)
    search = SmallSearch(strategy)
    search.rounds(6)
    few = len(strategy.state()["finds/members/evaluation/0"])
    assert 0 < few < 16
    found = set(strategy.state()["finds/members/evaluation/0"].tolist())
    parents = search.round().parent
    assert parents is not None
    assert len([parent for parent in parents.tolist() if parent in found]) >= few
    assert set(parents.tolist()) - found


def test_nothing_is_a_find_that_nothing_recognises() -> None:
    setup = small_setup(
        settings={"population": 32, "diversity": FIXED},
        recognises=lambda images: np.zeros(len(images), dtype=np.bool_),
    )
    strategy = build_strategy("nsga2", setup)
    SmallSearch(strategy).rounds(4)
    assert (strategy.facts()["finds"], strategy.facts()["look_valid"]) == (0, True)
    ignored = build_strategy("nsga2", replace(setup, settings={**setup.settings, "recognised": False}))
    SmallSearch(ignored).rounds(4)
    assert ignored.facts()["finds"] > 0
    assert ignored.facts()["look_valid"] is False


def test_finds_may_have_to_be_far_apart() -> None:
    strategy = searching(least=0.5)
    search = SmallSearch(strategy)
    search.rounds(4)
    divergence = strategy.state()["finds/members/divergence/0"]
    assert len(divergence)
    assert divergence.min() >= 0.5
    unreachable = searching(least=10.0)
    SmallSearch(unreachable).rounds(4)
    assert unreachable.facts()["finds"] == 0


def test_parts_of_the_state_follow_where_members_are_measured_anew_or_make_room() -> None:
    made = taken(finds(most=2500, novelty=Novelty(0.0)), candidates(*[0] * 2100))

    def assert_whole() -> None:
        state, restored = made.state(), finds(most=2500)
        restored.restore(state)
        for name, column in made.members.to_state("").items():
            np.testing.assert_array_equal(restored.members.to_state("")[name], column)

    assert_whole()
    assert made.state()["members/points/0"] is made.state()["members/points/0"]
    made.rescored(lambda members: np.arange(len(members), dtype=np.float64))
    assert_whole()
    more = replace(candidates(*[0] * 1000), divergence=np.full(1000, 3.0))
    made.add(more, weights=WEIGHTS, rng=np.random.default_rng(0))
    assert len(made) == 1875
    assert_whole()
    made.parents(50, weights=WEIGHTS, rng=np.random.default_rng(0))
    assert_whole()
