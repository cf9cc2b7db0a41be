"""Strategies by name, their settings, and what a user is told when either does not fit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diffgan.errors import UsageError
from diffgan.search.strategies import build_strategy, strategy_names
from diffgan.search.strategies.registry import check_settings, needs_discriminator, needs_generator
from diffgan.testing.strategies import small_generator, small_setup

OURS = ["nsga2", "diffgan-paper", "random", "divergence-only", "diversity-only"]


PEERS = ["drfuzz", "drfuzz-free", "dflare", "diffchaser"]


def test_ours_come_first() -> None:
    assert strategy_names()[: len(OURS + PEERS)] == OURS + PEERS


def test_each_says_what_a_run_has_to_bring() -> None:
    assert [name for name in OURS + PEERS if needs_generator(name)] == OURS
    assert [name for name in OURS + PEERS if needs_discriminator(name)] == ["drfuzz"]
    with pytest.raises(UsageError, match="no strategy 'nsga3'"):
        needs_generator("nsga3")


@pytest.mark.parametrize("name", OURS)
def test_each_is_built_under_its_name(name: str) -> None:
    assert build_strategy(name, small_setup()).name == name


def test_an_unknown_name_is_told_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no strategy 'nsga3'; there are: nsga2, diffgan-paper, random"):
        build_strategy("nsga3", small_setup())


@pytest.mark.parametrize("name", OURS)
def test_without_a_generator_there_is_nothing_to_search(name: str) -> None:
    with pytest.raises(UsageError, match=f"strategy {name} .* no generator"):
        build_strategy(name, small_setup(generator=None))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"popsize": 3}, "no setting 'popsize'; it has: population, offspring"),
        ({"population": 1}, "population = 1 does not fit the strategy nsga2: Input should be greater than or equal"),
        ({"population": "many"}, "population = 'many' does not fit"),
        ({"fresh": 1.5}, "fresh = 1.5 does not fit"),
        ({"cell_share": 0}, "cell_share = 0 does not fit"),
        ({"mutation_eta": float("nan")}, "mutation_eta = nan does not fit"),
        ({"least": float("inf")}, "least = inf does not fit"),
        ({"diversity": {"mode": "often"}}, "diversity .* mode"),
        ({"diversity": {"samples": 3}}, "diversity .* samples"),
        ({"diversity": {"sample": np.int64(3)}}, "diversity"),
        ({"crossover": 0, "mutation": 0, "fresh": 0}, "every child is a copy"),
    ],
)
def test_a_setting_that_does_not_fit_is_named(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError, match=said) as caught:
        build_strategy("nsga2", small_setup(settings=settings))
    assert "\n" not in str(caught.value)
    with pytest.raises(UsageError, match=said):
        check_settings("nsga2", settings)


@pytest.mark.parametrize("name", OURS)
def test_settings_can_be_checked_before_a_strategy_is_built(name: str) -> None:
    check_settings(name, {})
    with pytest.raises(UsageError, match=f"the strategy {name} has no setting 'popsize'"):
        check_settings(name, {"popsize": 3})


def test_another_packages_strategy_checks_its_settings_itself() -> None:
    check_settings("theirs", {"popsize": 3})


def test_random_has_no_settings() -> None:
    with pytest.raises(UsageError, match="random has no setting 'population'; it has: none"):
        build_strategy("random", small_setup(settings={"population": 10}))


def test_random_is_the_generators_own_sample() -> None:
    batch = build_strategy("random", small_setup(generator=small_generator(classes=4), batch_size=400)).ask()
    assert batch.latents is not None
    assert batch.classes is not None
    assert np.bincount(batch.classes).min() > 70
    assert np.abs(batch.latents).max() <= 1


def installed(folder: Path, name: str, code: str) -> None:
    """A package that offers a strategy."""
    (folder / f"{name}_module.py").write_text(code, encoding="utf-8")
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[diffgan.strategies]\n{name} = {name}_module:build\n", encoding="utf-8")


def test_another_package_can_bring_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from diffgan.search.strategies.random import build_random as build\n"
    installed(tmp_path, "theirs", code)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert "theirs" in strategy_names()
    assert len(build_strategy("theirs", small_setup()).ask()) == 32


def test_another_package_says_what_its_strategy_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from diffgan.search.strategies.random import build_random as build\n"
    installed(tmp_path, "silent", code)
    told = "def build(setup):\n    ...\n\nbuild.needs_generator = False\nbuild.needs_discriminator = True\n"
    installed(tmp_path, "telling", told)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert needs_generator("silent")
    assert not needs_discriminator("silent")
    assert not needs_generator("telling")
    assert needs_discriminator("telling")


def test_a_broken_one_is_told_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    installed(tmp_path, "broken", "import no_such_package\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(UsageError, match=r"broken .* cannot be loaded: ModuleNotFoundError"):
        build_strategy("broken", small_setup())
