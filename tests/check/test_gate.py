"""The gate on the sample project: replay, search, verdict, and the same verdict again."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from diffgan.check import gate
from diffgan.check.finds import said_in, save_finds
from diffgan.check.gate import Checked, GateWishes, check
from diffgan.check.junit import as_junit
from diffgan.check.markdown import as_markdown
from diffgan.check.outcomes import INVALID, Outcome
from diffgan.check.suites import read_suite
from diffgan.datasets import load_dataset
from diffgan.errors import ArchiveError, DiffganError
from diffgan.images import FloatImages, hex_id, id_from_hex
from diffgan.search.budgets import Budget
from diffgan.stats import nearest_distances
from diffgan.wanted import Wanted
from tests.check.junit_rules import faults

OLD, NEW, JUDGE = "models/old.pt", "models/new.pt", "models/judge.pt"


def go(out: str, old: str = OLD, new: str = NEW, *, seed: int = 0, evaluations: int = 2000, **asked: Any) -> Checked:
    wanted = Wanted(
        data=asked.pop("data", "data/test.npz"),
        generator=asked.pop("generator", "models/generator.pt"),
        strategy=asked.pop("strategy", "random"),
        filters=asked.pop("filters", False),
        resume=asked.pop("resume", False),
        budget=Budget(evaluations=evaluations),
        seed=seed,
        out=Path(out),
    )
    return check(old, new, GateWishes(wanted=wanted, **asked))


def outcomes(made: Checked, part: str) -> dict[str, int]:
    tally: dict[str, int] = made.summary["check"][part]["outcomes"]
    return tally


@pytest.mark.usefixtures("project")
def test_equal_inputs_give_an_equal_verdict() -> None:
    first, second = go("one", judges=[JUDGE]), go("two", judges=[JUDGE])
    assert first.summary["check"] == second.summary["check"]
    assert outcomes(first, "search")["regressions"] > 0
    assert outcomes(first, "search")["unlabelled"] == 0
    assert len(first.summary["check"]["search"]["generator"]["fingerprint"]) == 32
    other = go("three", judges=[JUDGE], seed=1)
    assert other.summary["check"]["search"]["outcomes"] != first.summary["check"]["search"]["outcomes"]


@pytest.mark.usefixtures("project")
def test_a_stopped_and_resumed_check_comes_to_the_same() -> None:
    whole = go("whole", judges=[JUDGE], evaluations=2048)
    go("part", judges=[JUDGE], evaluations=1024)
    resumed = go("part", judges=[JUDGE], evaluations=2048, resume=True)
    assert resumed.summary["check"] == whole.summary["check"]


@pytest.mark.usefixtures("project")
def test_a_model_passes_against_itself() -> None:
    made = go("same", OLD, OLD)
    assert made.passed
    assert outcomes(made, "search") == dict.fromkeys(map(str, Outcome), 0)
    with pytest.raises(DiffganError, match="no triggers"):
        go("next", suites=[Path("same")])


@pytest.mark.usefixtures("project")
def test_unlabelled_finds_never_fail_it() -> None:
    made = go("run")
    assert made.passed
    assert outcomes(made, "search")["unlabelled"] > 0
    assert outcomes(made, "search")["regressions"] == 0


@pytest.mark.usefixtures("project")
def test_judged_regressions_fail_it_beyond_the_limit() -> None:
    found = outcomes(go("run", judges=[JUDGE]), "search")["regressions"]
    assert go("within", judges=[JUDGE], max_regressions=found).passed
    made = go("beyond", judges=[JUDGE], max_regressions=found - 1)
    assert not made.passed
    assert "--max-regressions" in made.summary["check"]["failures"][0]


@pytest.mark.usefixtures("project")
def test_a_saved_suite_is_replayed_and_its_regressions_fail_or_are_allowed() -> None:
    found = go("first", judges=[JUDGE], save_suite=Path("suite"))
    suite = read_suite(Path("suite"), load_dataset("data/test.npz"))
    made = go("second", suites=[Path("suite")], junit=Path("new/junit.xml"), summary=Path("new/summary.md"))
    (part,) = made.summary["check"]["suites"]
    assert not made.passed
    assert part["triggers"] == len(suite)
    assert part["fingerprint"] == suite.fingerprint
    assert 0 < part["failing"] <= outcomes(found, "search")["regressions"]
    assert faults(Path("new/junit.xml").read_text(encoding="utf-8")) == []
    assert "❌ failed" in Path("new/summary.md").read_text(encoding="utf-8")
    allowed = go("third", suites=[Path("suite")], allow=Path("second/regressions.txt"))
    assert allowed.passed
    assert allowed.summary["check"]["suites"][0]["allowed"] == part["failing"]
    assert allowed.result is not None
    assert f"{part['failing']} of the regressions allowed" in allowed.result.parts[0].text
    fixed = go("fixed", OLD, OLD, suites=[Path("suite")], allow=Path("second/regressions.txt"))
    assert any("regress no more" in note for note in fixed.notes)


@pytest.mark.usefixtures("project")
def test_judges_never_outvote_people_whose_labels_are_in_a_suite() -> None:
    """The same seed finds the same images again, and the judge says the same of them."""
    first = go("first", judges=[JUDGE], save_suite=Path("suite"))
    assert first.result is not None
    path = Path("suite/suite.json")
    regress = {hex_id(int(number)) for number in first.result.finds.ids[first.result.finds.rows(Outcome.REGRESSION)]}
    saved = [row["id"] for row in json.loads(path.read_text())["triggers"] if row["id"] in regress]
    said = rf'("id":"{saved[0]}","label":)\d+,"by":"judges"'
    path.write_text(re.sub(said, r'\1"invalid","by":"people"', path.read_text()))
    second = go("second", judges=[JUDGE], suites=[Path("suite")], save_suite=Path("next"))
    assert outcomes(second, "search")["regressions"] == len(regress) - 1
    assert outcomes(second, "search")["invalid"] == outcomes(first, "search")["invalid"] + 1
    (row,) = [row for row in json.loads(Path("next/suite.json").read_text())["triggers"] if row["id"] == saved[0]]
    assert (row["label"], row["by"]) == ("invalid", "people")
    for order in (["suite", "first"], ["first", "suite"]):
        labels, machine = said_in([read_suite(Path(name), load_dataset("data/test.npz")) for name in order])
        assert labels[id_from_hex(saved[0])] == INVALID
        assert id_from_hex(saved[0]) not in machine


@pytest.mark.usefixtures("project")
def test_allowed_finds_do_not_count_against_the_limit() -> None:
    made = go("first", judges=[JUDGE], max_regressions=0)
    assert not made.passed
    again = go("second", judges=[JUDGE], max_regressions=0, allow=Path("first/regressions.txt"))
    assert again.passed
    assert not any("in no --suite" in note for note in again.notes)
    asked = again.summary["asked"]
    searched = again.summary["queries"]
    data = len(load_dataset("data/test.npz"))
    assert asked["old"] >= searched["a"] + data
    assert asked["new"] >= searched["b"] + data
    # Once for its limit, and once for what the search has found.
    assert [0 <= count - data - again.summary["unique"] < 10 for count in asked["judges"]] == [True]


@pytest.mark.usefixtures("project")
def test_a_judge_that_cannot_judge_is_told_before_the_search() -> None:
    def certain(images: FloatImages) -> np.ndarray:
        return np.asarray(np.eye(10, dtype=np.float32)[(images.sum(axis=(1, 2, 3)) * 7).astype(int) % 10])

    with pytest.raises(DiffganError, match="valid"):
        go("run", judges=[certain])
    assert not Path("run").exists()


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "mistake",
    [
        {"strategy": "typo"},
        {"generator": "models/typo.pt"},
        {"out": "data"},
        {"resume": True},
        {"suites": [Path("no")]},
    ],
)
def test_a_mistake_costs_no_query(mistake: dict[str, Any]) -> None:
    shown: list[int] = []

    def counting(images: FloatImages) -> np.ndarray:
        shown.append(len(images))
        return np.full((len(images), 4), 0.25, dtype=np.float32)

    model: Any = counting
    with pytest.raises(DiffganError):
        go(mistake.pop("out", "run"), model, model, judges=[JUDGE], **mistake)
    assert sum(shown) <= 2 * 3  # a first look, when they are opened


@pytest.mark.usefixtures("project")
def test_a_former_sittings_judge_has_no_say() -> None:
    def brightness(images: FloatImages) -> np.ndarray:
        sure = 0.3 + 0.6 * images.mean(axis=(1, 2, 3))
        answers = np.repeat((1 - sure)[:, None] / 9, 10, axis=1).astype(np.float32)
        answers[:, 3] = sure
        return answers

    former = go("run", judges=[brightness], evaluations=1024)
    assert any("brightness is right on" in note and "chance" in note for note in former.notes)
    again, fresh = (go(name, judges=[JUDGE], evaluations=1024, resume=name == "run") for name in ("run", "fresh"))
    assert outcomes(again, "search") == outcomes(fresh, "search") != outcomes(former, "search")


@pytest.mark.usefixtures("project")
def test_examples_are_of_the_labels_as_they_are() -> None:
    go("run", evaluations=1024)
    assert list(Path("run/examples/unlabelled/search").iterdir())
    made = go("run", judges=[JUDGE], evaluations=1024, resume=True)
    assert outcomes(made, "search")["unlabelled"] == 0
    assert not Path("run/examples/unlabelled/search").exists()


@pytest.mark.usefixtures("project")
def test_saving_what_was_replayed_again_changes_nothing() -> None:
    go("first", judges=[JUDGE], save_suite=Path("suite"))
    before = [(Path("suite") / name).read_bytes() for name in ("suite.json", "suite.npz")]
    go("second", judges=[JUDGE], suites=[Path("suite")], save_suite=Path("suite"))
    assert [(Path("suite") / name).read_bytes() for name in ("suite.json", "suite.npz")] == before


@pytest.mark.usefixtures("project")
def test_a_run_is_a_suite_and_says_when_it_has_no_labels() -> None:
    go("plain")
    made = go("again", suites=[Path("plain")])
    assert made.passed
    assert any("plain has no labels" in note for note in made.notes)
    assert made.summary["check"]["suites"][0]["outcomes"]["unlabelled"] == made.summary["check"]["search"]["kept"]


@pytest.mark.usefixtures("project")
def test_a_suite_is_bounded_and_its_images_are_distinct() -> None:
    made = go("run", judges=[JUDGE])
    assert made.result is not None
    data, distance = load_dataset("data/test.npz"), 0.0
    save = {"archive_path": Path("run/archive.db"), "answers": made.result.finds, "kept": made.result.kept}
    assert save_finds(Path("small"), data, machine=frozenset(), suites=[], most=3, **save) == 3  # type: ignore[arg-type]
    small = read_suite(Path("small"), data)
    assert all(label >= 0 for label in small.labels.values())
    save_finds(Path("whole"), data, machine=frozenset(), suites=[], **save)  # type: ignore[arg-type]
    ((_, images),) = list(read_suite(Path("whole"), data).pages())
    distance = float(np.median(nearest_distances(data.images)))
    assert nearest_distances(images).min() > distance


@pytest.mark.usefixtures("project")
def test_a_broken_model_fails_and_one_at_chance_is_told() -> None:
    made = go("broken", OLD, "models/broken.pt")
    assert not made.passed
    assert "significantly worse" in made.summary["check"]["failures"][0]
    with np.load("data/test.npz") as arrays:
        np.savez("data/swapped.npz", images=arrays["images"], labels=(arrays["labels"] + 1) % 4)
    swapped = go("swapped", data="data/swapped.npz")
    assert sum("no better than chance" in note for note in swapped.notes) == 2


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ({"judges": [OLD]}, "is under test"),
        ({"judges": [JUDGE, JUDGE]}, "given twice"),
        ({"max_regressions": 3}, "--judge"),
        ({"max_rate": 2.0}, "--max-rate"),
        ({"suites": [Path("data")]}, "holds no suite"),
        ({"junit": Path("allowed.txt/junit.xml")}, "--junit"),
        ({"summary": Path("data")}, "--summary"),
        ({"save_suite": Path("models")}, "--save-suite"),
        ({"allow": Path("none.txt")}, "--allow"),
        ({"data": "data/bare.npz"}, "labels"),
    ],
)
def test_bad_input_is_told_before_the_search(asked: dict[str, Any], part: str) -> None:
    np.savez("data/bare.npz", images=np.zeros((4, 8, 8, 1), dtype=np.uint8))
    with pytest.raises(DiffganError, match=part):
        go("run", **asked)
    assert not Path("run").exists()


@pytest.mark.usefixtures("project")
def test_names_from_files_stay_text() -> None:
    made = go("run", suites=[])
    assert made.result is not None
    made.result.models[0].name = "<b>|\x00[x](javascript:1)"
    assert faults(as_junit(made.result)) == []
    text = as_markdown(made.result)
    assert "<b>" not in text
    assert "](javascript" not in text


@pytest.mark.usefixtures("project")
def test_a_strategy_without_generator_checks_without_one_and_the_files_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a generator is trained")

    monkeypatch.setattr("diffgan.preparation.cached_generator", refused)
    files: dict[str, Any] = {"junit": Path("junit.xml"), "summary": Path("summary.md")}
    made = go("run", judges=[JUDGE], strategy="drfuzz-free", generator=None, save_suite=Path("suite"), **files)
    assert made.summary["check"]["search"]["generator"] is None
    assert outcomes(made, "search")["regressions"] > 0
    text = Path("junit.xml").read_text(encoding="utf-8")
    assert faults(text) == []
    properties = {each.get("name"): each.get("value") for each in ElementTree.fromstring(text).iter("property")}
    assert properties["generator"] == "none"
    assert "images by drfuzz\\-free, seed 0" in Path("summary.md").read_text(encoding="utf-8")
    again = go("again", strategy="dflare", generator=None, suites=[Path("suite")])
    assert again.summary["check"]["suites"][0]["failing"] > 0


@pytest.mark.usefixtures("project")
def test_a_full_disk_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ArchiveError("examples cannot be written (No space left on device): see the disk.")

    monkeypatch.setattr(gate, "write_examples", refuse)
    with pytest.raises(ArchiveError):
        go("run")
    assert Path("run/summary.json").is_file()
