"""NSGA-II as a strategy: generations, survivors, duplicates, cells, clusters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from pymoo.core.population import Population as PymooPopulation
from pymoo.core.problem import Problem
from pymoo.operators.survival.rank_and_crowding import RankAndCrowding

from diffgan.errors import UsageError
from diffgan.generators.generator import Generator
from diffgan.generators.priors import NormalPrior, UniformPrior
from diffgan.images import ImageSpec
from diffgan.search.divergence import Divergences, divergence_named
from diffgan.search.diversity import Diversity, DiversitySettings
from diffgan.search.nearest import Nearest
from diffgan.search.strategies import Batch, StrategySetup, build_strategy
from diffgan.search.strategies.nsga2 import Nsga2
from diffgan.search.strategies.nsga2_settings import Nsga2Settings
from diffgan.search.strategies.paper import build_paper, paper_settings
from diffgan.search.strategies.protocol import NO_PARENT
from diffgan.testing.strategies import FirstImages, SmallSearch, small_generator, small_model, small_setup

#: The clusters never change.
FIXED: Mapping[str, Any] = {"mode": "bounded", "first": 1_000_000}
Ints = NDArray[np.int64]


def nsga2(setup: StrategySetup | None = None, **settings: Any) -> Nsga2:
    """Its population alone, unless finds are asked for."""
    chosen = {"diversity": FIXED, "finds": 0, **settings}
    strategy = build_strategy("nsga2", _with(setup or small_setup(), chosen))
    assert isinstance(strategy, Nsga2)
    return strategy


def _with(setup: StrategySetup, settings: Mapping[str, Any]) -> StrategySetup:
    return small_setup(**{**vars(setup), "settings": settings})


def answered(strategy: Nsga2, batch: Batch) -> Divergences:
    """Tells it what the small models say, all triggers being new."""
    a, b = small_model(batch.images, 1), small_model(batch.images, 2)
    found = divergence_named("euclidean")(a, b)
    strategy.tell(a, b, found, found.triggers)
    return found


def test_a_generation_may_be_smaller_or_larger_than_a_batch() -> None:
    search = SmallSearch(nsga2(population=50, offspring=40))
    assert [len(batch) for batch in search.rounds(5)] == [32, 18, 32, 8, 32]
    assert search.strategy.facts()["generation"] == 2
    assert search.strategy.facts()["population"] == 50


def test_the_first_generation_has_no_parents_and_later_ones_a_share_from_the_prior() -> None:
    search = SmallSearch(nsga2(population=32, fresh=0.25))
    first, second = search.rounds(2)
    assert first.parent is not None
    assert second.parent is not None
    assert (first.parent == NO_PARENT).all()
    assert (second.parent == NO_PARENT).sum() == 8


@pytest.mark.parametrize("seed", range(4))
def test_the_papers_survivors_are_pymoos(seed: int) -> None:
    setup = small_setup(seed=seed, batch_size=100, settings={"diversity": FIXED})
    strategy = build_paper(setup)
    diversity = Diversity(setup.images, seed=seed, settings=DiversitySettings(first=1_000_000))
    first, second = strategy.ask(), None
    told = [answered(strategy, first)]
    second = strategy.ask()
    told.append(answered(strategy, second))
    images = np.concatenate([first.images, second.images])
    values = np.column_stack([np.concatenate([each.amount for each in told]), diversity.scores(images)])
    _, unique = np.unique(images.reshape(len(images), -1), axis=0, return_index=True)
    unique.sort()
    population = PymooPopulation.new(X=unique[:, None].astype(float), F=-values[unique])
    expected = RankAndCrowding().do(
        Problem(n_var=1, n_obj=2), population, n_survive=100, random_state=np.random.default_rng(0)
    )
    survivors = strategy.state()["parents/evaluation"]
    different = set(survivors.tolist()) ^ set(expected.get("X")[:, 0].astype(int).tolist())
    assert len(survivors) == 100
    assert len(different) <= 2  # lots are drawn between the two ends of the last front


def test_the_paper_is_what_the_configuration_says() -> None:
    settings = Nsga2Settings.model_validate(dict(paper_settings()))
    assert (settings.population, settings.children, settings.crossover, settings.mutation) == (100, 100, 0.9, 0.1)
    assert (settings.fresh, settings.cell_share, settings.retire, settings.drop_known) == (0, 1, 0, False)
    assert (settings.finds, settings.explore, settings.recognised, settings.screen) == (0, 0, False, 1)
    assert settings.diversity.mode == "faithful"
    strategy = build_strategy("diffgan-paper", small_setup())
    assert strategy.name == "diffgan-paper"
    assert len(SmallSearch(strategy).round()) == 32
    larger = SmallSearch(build_strategy("diffgan-paper", small_setup(batch_size=512)))
    assert [len(larger.round()) for _ in range(3)] == [100, 100, 100]
    assert larger.strategy.facts()["made"] == 300


def test_a_normal_prior_is_searched_through_its_quantiles_unless_told_otherwise() -> None:
    setup = small_setup(generator=small_generator(prior=NormalPrior()), batch_size=512)
    own, uniform = nsga2(setup).ask().latents, nsga2(setup, prior="uniform").ask().latents
    assert own is not None
    assert uniform is not None
    assert own.std() == pytest.approx(1, abs=0.05)
    assert np.abs(own).max() > 2
    assert np.abs(uniform).max() <= 1
    assert uniform.std() == pytest.approx(1 / np.sqrt(3), abs=0.03)


def coarse_generator() -> Generator:
    """Its images have 16 forms only."""

    def network(latents: torch.Tensor, labels: torch.Tensor | None) -> torch.Tensor:
        levels = (latents[:, :2] * 2).floor() / 4 + 0.5
        return levels.repeat(1, 18).reshape(-1, 1, 6, 6)

    return Generator(
        name="coarse",
        latent=3,
        prior=UniformPrior(),
        classes=None,
        spec=ImageSpec(1, 6, 6),
        fingerprint="coarse",
        data=None,
        network=network,
    )


def test_equal_images_survive_once() -> None:
    strategy = nsga2(small_setup(generator=coarse_generator()), population=32)
    search = SmallSearch(strategy)
    search.rounds(6)
    fingerprints = strategy.state()["parents/fingerprint"]
    assert len(np.unique(fingerprints)) == len(fingerprints)
    assert 2 <= len(fingerprints) <= 25
    assert strategy.facts()["duplicates"] > 100


def test_what_the_archive_knows_already_does_not_survive() -> None:
    strategy = nsga2(population=32)
    batch = strategy.ask()
    a, b = small_model(batch.images, 1), small_model(batch.images, 2)
    triggers = np.arange(32) < 20
    new = np.arange(32) < 10
    strategy.tell(a, b, Divergences(np.linspace(1, 2, 32), triggers), new)
    assert sorted(strategy.state()["parents/evaluation"].tolist()) == [*range(10), *range(20, 32)]


def told_cells(strategy: Nsga2, cells: Ints) -> None:
    """All are new triggers; those of cell 0 diverge most."""
    batch = strategy.ask()
    ones = np.eye(4, dtype=np.float32)
    divergence = np.where(cells == 0, 2.0, 1.0) + np.linspace(0, 0.1, len(batch))
    everything = np.ones(len(batch), dtype=np.bool_)
    strategy.tell(ones[cells], ones[(cells + 1) % 4], Divergences(divergence, everything), everything)


@pytest.mark.parametrize("share", [0.25, 1.0])
def test_no_cell_fills_the_population_while_others_can(share: float) -> None:
    strategy = nsga2(population=20, cell_share=share)
    told_cells(strategy, np.arange(20) % 4)
    told_cells(strategy, np.zeros(20, dtype=np.int64))
    cells = strategy.state()["parents/cell"]
    assert len(cells) == 20
    assert (cells == 1).sum() == 5 if share == 0.25 else (cells == 1).sum() > 10
    assert strategy.facts()["largest_cell_share"] == 25 / 40


def test_who_was_a_parent_often_enough_makes_room() -> None:
    strategy = nsga2(population=16, retire=1, fresh=0.0, cell_share=1.0)
    search = SmallSearch(strategy)
    search.round()
    assert (strategy.state()["parents/matings"] == 0).all()
    search.round()
    assert len(strategy.state()["parents/matings"]) == 16
    assert (strategy.state()["parents/matings"] == 0).all()


@pytest.mark.parametrize(("finds", "who"), [(0, "parents/{}"), (1000, "finds/members/{}/0")])
def test_survivors_are_scored_against_the_clusters_of_now(finds: int, who: str) -> None:
    generator, refits = small_generator(classes=4), FirstImages()
    settings = Nsga2Settings(population=32, finds=finds, diversity=DiversitySettings(first=10, patience=0))
    strategy = Nsga2(small_setup(generator=generator), settings, refits=refits)
    SmallSearch(strategy).rounds(5)
    state = strategy.state()
    assert strategy.facts()["clusters"] == 3
    images = generator.images(state[who.format("points")], state[who.format("classes")])
    assert len(images)
    assert np.allclose(state[who.format("diversity")], Nearest(refits.adopted).distances(images), atol=1e-6)


def test_classes_come_from_a_parent() -> None:
    setup = small_setup(generator=small_generator(classes=4))
    first, second = SmallSearch(nsga2(setup, population=32, fresh=0.0, class_mutation=0.0)).rounds(2)
    assert first.classes is not None
    assert second.classes is not None
    assert second.parent is not None
    assert np.array_equal(second.classes, first.classes[second.parent])


@pytest.mark.parametrize("name", ["nsga2", "divergence-only"])
def test_it_finds_more_than_random(name: str) -> None:
    counts = {}
    for each in (name, "random"):
        settings = {} if each == "random" else {"population": 32, "diversity": FIXED}
        search = SmallSearch(build_strategy(each, small_setup(settings=settings)))
        search.rounds(40)
        counts[each] = len(search.seen)
    assert counts[name] > 1.2 * counts["random"]


def test_one_objective_alone_drives_its_own_mean_up() -> None:
    means: dict[str, tuple[float, float]] = {}
    for name in ("divergence-only", "diversity-only", "random"):
        own = {"population": 32, "fresh": 0.0, "cell_share": 1.0, "diversity": FIXED}
        classical = {"finds": 0, "crossover": 0.9, "mutation": 0.1, "mutation_eta": 20}
        settings = {} if name == "random" else own | classical
        setup = small_setup(settings=settings)
        scores = Diversity(setup.images, seed=setup.seed, settings=DiversitySettings(first=1_000_000)).scores
        batch = SmallSearch(build_strategy(name, setup)).rounds(30)[-1]
        a, b = small_model(batch.images, 1), small_model(batch.images, 2)
        means[name] = float(divergence_named("euclidean")(a, b).amount.mean()), float(scores(batch.images).mean())
    assert means["divergence-only"][0] > max(means["diversity-only"][0], means["random"][0])
    assert means["diversity-only"][1] > max(means["divergence-only"][1], means["random"][1])


def test_only_classes_have_cells() -> None:
    class Numbers:
        name, task = "absolute", "regression"

        def __call__(self, a: Any, b: Any, expected: Any = None) -> Divergences:
            raise AssertionError

    strategy = nsga2(small_setup(divergence=Numbers()), population=32)
    batch = strategy.ask()
    numbers = np.zeros((32, 1), dtype=np.float32)
    strategy.tell(numbers, numbers, Divergences(np.ones(32), np.ones(32, bool)), np.ones(32, bool))
    assert "cells" not in strategy.facts()
    assert (strategy.state()["parents/cell"] == -1).all()
    assert len(batch) == 32


def test_telling_before_asking_is_refused() -> None:
    nothing = np.empty((0, 4), dtype=np.float32)
    with pytest.raises(UsageError, match="ask first"):
        nsga2().tell(nothing, nothing, Divergences(np.empty(0), np.empty(0, bool)), np.empty(0, bool))
