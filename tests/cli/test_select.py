"""`diffgan select` as a user runs it: search, judge, train, score, predict, and one line for every mistake."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from diffgan.archive import Archive
from diffgan.cli.main import main
from diffgan.selection import networks
from tests.selection.world import World, build, label, search


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


class Shell:
    """Runs commands in this process."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self._monkeypatch, self._capfd = monkeypatch, capfd

    def __call__(self, *arguments: object) -> Done:
        self._capfd.readouterr()
        self._monkeypatch.setattr(sys, "argv", ["diffgan", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        said = self._capfd.readouterr()
        return Done(int(ended.value.code or 0), said.out, said.err)


@pytest.fixture(scope="module", autouse=True)
def short_training() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(networks, "FEWEST_SEEN", 6_000)
        yield


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return build(tmp_path_factory.mktemp("world"))


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path) -> Shell:
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    return Shell(monkeypatch, capfd)


def test_from_runs_to_a_table(shell: Shell, world: World, tmp_path: Path) -> None:
    done = shell("select", "train", world.run, "--test", world.other, "--out", "s")
    assert done.code == 0, done.err
    for part in ("upper.onnx (A)", "by judges alone", "Cross-validation in 5 parts", "near copies", "always A"):
        assert part in done.out, part
    assert {path.name for path in (tmp_path / "s").iterdir()} == {
        *("card.json", "forest.skops", "learned.safetensors", "mimic.safetensors", "seen.npz")
    }
    done = shell("select", "score", "s", world.other, "--data", "digits:judge", "--json")
    assert done.code == 0, done.err
    scored = json.loads(done.out)
    card = json.loads((tmp_path / "s" / "card.json").read_text())
    assert scored["held_out"] == card["held_out"]
    ways = scored["routing"]["ways"]
    assert sum(ways["selector"]["queries"].values()) == ways["A"]["queries"]["a"] == scored["routing"]["images"]
    done = shell("select", "score", "s", "--data", "digits:test")
    assert done.code == 0, done.err
    assert "both, mean" in done.out
    assert "flattered" in done.err
    done = shell("select", "predict", "s", "digits:judge", "--out", "out.csv")
    assert done.code == 0, done.err
    assert "upper.onnx was asked about" in done.err
    rows = list(csv.DictReader((tmp_path / "out.csv").open(encoding="utf-8")))
    assert len(rows) == scored["routing"]["images"]
    assert {row["model"] for row in rows} == {"upper.onnx", "lower.onnx"}
    done = shell("inspect", "s", world.b, "--data", "digits:judge")
    assert done.code == 0, done.err


def test_json_is_the_card(shell: Shell, world: World, tmp_path: Path) -> None:
    done = shell("select", "train", world.run, "--out", "s", "--features", "pixels", "--parts", "0", "--json")
    assert done.code == 0, done.err
    assert json.loads(done.out) == json.loads((tmp_path / "s" / "card.json").read_text())


def test_a_search_may_still_be_writing(shell: Shell, world: World) -> None:
    with Archive.open(world.run / "archive.db") as busy:
        busy._connection.execute("BEGIN IMMEDIATE")
        done = shell("select", "train", world.run, "--out", "s", "--features", "pixels", "--parts", "0")
    assert done.code == 0, done.err
    assert "Not tested on another run" in done.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train"], "RUN"),
        (["train", "nowhere", "--out", "s"], "nowhere is no folder"),
        (["train", "RUN", "--out", "RUN"], "nothing is overwritten"),
        (["train", "RUN", "--out", "no/s"], "is not there"),
        (["train", "RUN", "RUN", "--out", "s"], "named twice"),
        (["train", "RUN", "--out", "s", "--test", "RUN"], "test on the run of another seed"),
        (["train", "RUN", "--out", "s", "--triggers", "3"], "too few"),
        (["train", "RUN", "--out", "s", "--features", "hog"], "'hog'"),
        (["train", "RUN", "--out", "s", "--weights", "w.pth"], "takes none"),
        (["train", "RUN", "--out", "s", "--features", "vgg16", "--weights", "w.pth"], "w.pth"),
        (["train", "RUN", "--out", "s", "--data", "mnist5k.npz"], "mnist5k.npz"),
        (["train", "RUN", "--out", "s", "--model-a", "JUDGE"], "is not the model A"),
        (["train", "FRESH", "--out", "s"], "is labelled: label triggers"),
        (["train", "RUN", "--out", "s", "--test", "FRESH"], "is labelled: label triggers"),
        (["score", "s"], "nothing to score on"),
        (["score", "nowhere", "--data", "digits"], "nowhere is no folder"),
        (["score", "RUN", "--data", "digits"], "holds no selector"),
        (["predict", "nowhere", "digits", "--out", "o.csv"], "nowhere is no folder"),
    ],
)
def test_a_mistake_is_one_line(shell: Shell, world: World, tmp_path: Path, arguments: list[str], said: str) -> None:
    if "FRESH" in arguments:
        search(world, tmp_path / "fresh", 3, evaluations=200)
    places = {"RUN": world.run, "JUDGE": world.judge, "FRESH": tmp_path / "fresh"}
    done = shell("select", *(places.get(argument, argument) for argument in arguments))
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert said in done.err
    assert not (tmp_path / "s").exists()


def test_too_few_labels_say_how_many_it_takes(shell: Shell, world: World, tmp_path: Path) -> None:
    search(world, tmp_path / "small", 4, evaluations=12)
    label(world, tmp_path / "small")
    done = shell("select", "train", tmp_path / "small", "--out", "s")
    assert done.code == 2
    assert "label" in done.err
    assert len(done.err.splitlines()) == 1


def test_help_is_there(shell: Shell) -> None:
    for command in ([], ["train"], ["score"], ["predict"]):
        done = shell("select", *command, "--help")
        assert done.code == 0
        assert "Usage" in done.out
