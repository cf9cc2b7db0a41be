"""What a study may say, what it stands for, and how a mistake in it is told before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from diffgan import configs
from diffgan.bench.cells import cells_of
from diffgan.bench.study_files import parse_study, read_study
from diffgan.errors import UsageError
from tests.bench.conftest import STUDY
from tests.bench.rows_by_hand import PLAN, study


def test_the_first_seed_comes_first_and_a_strategy_without_generator_runs_once() -> None:
    plan = study(generators={"g": "g.pt", "h": "h.pt"}, strategies=["random", "dflare"], seeds=[7, 3])
    assert [cell.key for cell in cells_of(plan)] == [
        "p/-/dflare/7",
        "p/g/random/7",
        "p/h/random/7",
        "p/-/dflare/3",
        "p/g/random/3",
        "p/h/random/3",
    ]


def test_one_strategy_takes_part_under_two_names() -> None:
    plan = study(strategies={"small": {"strategy": "nsga2", "settings": {"population": 64}}, "random": None})
    assert plan.registered("small") == "nsga2"
    assert plan.strategies["small"].settings == {"population": 64}
    assert plan.needs_generator("small")
    assert not study(strategies={"few": {"strategy": "dflare", "settings": {"lanes": 8}}}).needs_generator("few")


def test_times_are_written_as_people_write_them() -> None:
    assert study(budget={"seconds": "1m30s"}).budget.seconds == 90


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"pears": 1}, "no key 'pears'"),
        ({"budget": {"second": 3}}, "no key 'second' in budget"),
        ({"strategies": []}, "strategies is empty"),
        ({"pairs": {}}, "pairs is empty"),
        ({"seeds": []}, "seeds is empty"),
        ({"seeds": 0}, "seeds is empty"),
        ({"seeds": [1, 1]}, "seed stands twice"),
        ({"strategies": ["random", "random"]}, "strategy stands twice"),
        ({"budget": {}}, "no limit"),
        ({"budget": {"seconds": 0}}, "budget.seconds = 0"),
        ({"marks": {"seconds": [60]}}, "60 s lies beyond the budget of 20 s"),
        ({"marks": {"seconds": [20, 10]}}, "have to rise"),
        ({"baseline": "nope"}, "the baseline 'nope' is none of the strategies nsga2, random, dflare"),
        ({"generators": {}}, "no generator, but nsga2 searches one"),
        ({"strategies": {"fuzz": {"strategy": "drfuzz"}}}, "no discriminator, but fuzz asks one; name a folder"),
        ({"strategies": {"nsga2": {"generator": False}}}, "no key 'generator' in strategies.nsga2"),
        ({"diversity": {"metrics": ["nope"]}}, "there is no diversity 'nope'; there are: geometric,"),
        ({"diversity": {"metrics": ["vendi", "vendi"]}}, "diversity stands twice"),
        ({"diversity": {"metrics": ["vendi"], "weights": "w.pth"}}, "weights are for features: vgg16"),
        ({"judge": {"models": []}}, "judge.models is empty"),
        ({"pairs": {"p": ["one.onnx"]}}, "pairs.p"),
        ({"pairs": {"../p": ["a", "b"]}}, "pairs.../p"),
        ({"pairs": {"p__q": ["a", "b"]}}, "pairs.p__q"),
        ({"data": None}, "data"),
    ],
)
def test_a_mistake_is_told_in_one_line(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as told:
        parse_study(PLAN | changed, "mine.yaml")
    assert message in str(told.value)
    assert str(told.value).startswith("mine.yaml: ")


def written(folder: Path, **changed: Any) -> str:
    (folder / "mine.yaml").write_text(yaml.safe_dump(yaml.safe_load(STUDY) | changed), encoding="utf-8")
    return str(folder / "mine.yaml")


def test_paths_are_relative_to_the_study(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    plan = read_study("project/tiny.yaml")
    assert plan.name == "tiny"
    assert plan.pairs["old-broken"].b == str(project / "models" / "broken.pt")
    assert plan.data == str(project / "data" / "test.npz")


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"strategies": ["nope"], "baseline": "nope"}, "no strategy 'nope'; there are: nsga2"),
        ({"pairs": {"p": ["models/old.pt", "models/none.pt"]}}, "pairs.p.b is models/none.pt, but there is no"),
        ({"generators": {"g": "none.pt"}}, "generators.g is none.pt"),
        ({"judge": {"models": ["none.pt"]}}, "judge.models.0 is none.pt"),
        ({"data": "none.npz"}, "data is none.npz"),
        ({"discriminator": "runs/none"}, "discriminator is runs/none, but there is no"),
        (
            {"diversity": {"metrics": ["vendi"], "features": "vgg16", "weights": "none.pth"}},
            "diversity.weights is none.pth",
        ),
        ({"pairs": {"p": ["py:os:system", "models/old.pt"]}}, "may not run code"),
        ({"data": "testbed:data/x.npz"}, "set DIFFGAN_TESTBED"),
    ],
)
def test_what_is_not_there_is_told_before_anything_runs(
    project: Path, monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], message: str
) -> None:
    monkeypatch.setenv("DIFFGAN_TESTBED", str(project / "nowhere"))
    with pytest.raises(UsageError) as told:
        read_study(written(project, **changed))
    assert message in str(told.value)


def test_the_test_bed_is_where_the_environment_says(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DIFFGAN_TESTBED", str(project))
    assert read_study(written(project, data="testbed:data/test.npz")).data == str(project / "data" / "test.npz")


def test_an_unknown_study_names_those_that_there_are() -> None:
    with pytest.raises(UsageError, match=r"no study 'rq9'.*rq1-small"):
        read_study("rq9")
    with pytest.raises(UsageError, match=r"no study .*none\.yaml"):
        read_study("none.yaml")


@pytest.mark.parametrize("name", configs.study_names())
def test_the_studies_that_ship_fit(name: str) -> None:
    plan = parse_study(configs.read_study(name), name)
    assert plan.title
    assert len(plan.marks.seconds) >= 2 or len(plan.marks.queries) >= 2


@pytest.mark.parametrize("name", [name for name in configs.study_names() if name.endswith("-small")])
def test_the_small_studies_need_nothing_but_the_test_bed(name: str) -> None:
    plan = parse_study(configs.read_study(name), name)
    models = [model for pair in plan.pairs.values() for model in (pair.a, pair.b)]
    named = [plan.data, *plan.generators.values(), *models]
    assert plan.discriminator is None
    assert all(path.startswith("testbed:") for path in named)


def test_every_question_of_the_paper_has_a_study_in_two_sizes() -> None:
    questions = ["rq1", "rq2", "rq3", "rq4", "ablation"]
    assert {*questions, *(f"{name}-small" for name in questions)} <= set(configs.study_names())
