"""Running cells: each once, whatever interrupts it; failures recorded; changes refused."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from diffgan.archive import Archive
from diffgan.bench.cells import Cell
from diffgan.bench.lock import alone_against_the_clock
from diffgan.bench.metrics import METRICS, Metric
from diffgan.bench.rows import Row
from diffgan.bench.running import Benched, bench
from diffgan.bench.study_files import read_study
from diffgan.errors import GeneratorError, ModelError, UsageError
from diffgan.generators.architecture import Architecture
from diffgan.generators.artifact import seeded_networks, write_artifact
from diffgan.generators.card import Card, DataCard
from diffgan.generators.priors import NormalPrior
from diffgan.pipeline import run
from tests.bench.conftest import STUDY

RUN = "diffgan.bench.running.run"


class Listening:
    """Remembers what it is told; may interrupt."""

    def __init__(self, at: Callable[[str, float], bool] = lambda key, share: False) -> None:
        self.overs: list[tuple[str, int, int]] = []
        self.left: list[float] = []
        self.notes: list[str] = []
        self._at = at

    def note(self, text: str) -> None:
        self.notes.append(text)

    def going(self, cell: Cell, done: float, cells: int) -> None:
        if self._at(cell.key, done % 1):
            raise KeyboardInterrupt

    def over(self, row: Row, *, place: int, cells: int, seconds_left: float) -> None:
        self.overs.append((row["cell"], place, cells))
        self.left.append(seconds_left)
        if self._at(row["cell"], 1.0):
            raise KeyboardInterrupt


KEYS = [
    "old-broken/painter/divergence-only/0",
    "old-broken/painter/random/0",
    "old-broken/painter/divergence-only/1",
    "old-broken/painter/random/1",
]


def go(project: Path, teller: Listening | None = None, **changed: Any) -> Benched:
    (project / "tiny.yaml").write_text(yaml.safe_dump(yaml.safe_load(STUDY) | changed), encoding="utf-8")
    return bench(read_study("tiny.yaml"), project / "out", teller or Listening())


def lines(project: Path) -> list[Row]:
    return [json.loads(line) for line in (project / "out" / "cells.jsonl").read_text().splitlines()]


def without_times(row: Row) -> Row:
    timed = {"seconds", "images_per_second", "time_share", "finished", "dv_curve", "unique_curve"}
    return {name: value for name, value in row.items() if name not in timed and not name.endswith("_seconds")}


def test_each_cell_leaves_a_row_with_figures_and_no_run(project: Path) -> None:
    teller = Listening()
    made = go(project, teller)
    assert [row["cell"] for row in made.rows] == [row["cell"] for row in lines(project)] == KEYS
    assert teller.overs == [(key, place, 4) for place, key in enumerate(KEYS, 1)]
    assert teller.left[-1] == 0 < teller.left[0]
    assert not (project / "out" / "runs").exists()
    for row in made.done:
        assert row["evaluations"] == 300
        assert row["queries"] == row["queries_a"] + row["queries_b"] >= 600
        assert 0 < row["dv"] <= row["valid"] <= row["unique"] <= row["triggers"]
        assert row["share_valid_low"] < row["share_valid"] < row["share_valid_high"] or row["valid"] == row["unique"]
        assert row["dv_at_queries"][0] <= row["dv_at_queries"][1] <= row["dv"]
        right = row["valid_only_a_right"] + row["valid_only_b_right"] + row["valid_both_wrong"]
        assert right == row["valid"]
        assert row["initial"]["unique"] > 0
        assert set(row["definition"]) >= {"diffgan", "pair", "generator", "data", "judge", "strategy", "budget"}
        assert str(project) not in json.dumps(row)


def test_the_rows_figures_are_the_archives(project: Path) -> None:
    row = go(project, strategies=["random"], seeds=1, keep_runs=True).done[0]
    kept = project / "out" / "runs" / "old-broken__painter__random__0"
    with Archive.open(kept / "archive.db", read_only=True) as archive:
        asked = archive.column("queries_a") + archive.column("queries_b")
        assert row["unique"] == archive.count()
        assert row["unique_at_queries"] == [int((asked <= 200).sum()), int((asked <= 600).sum())]
        assert row["unique_curve"]["queries"][-1] == asked[-1]


def test_done_cells_are_not_run_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = go(project)
    monkeypatch.setattr(RUN, None)
    again = go(project, Listening())
    assert again.rows == before.rows
    assert len(lines(project)) == 4


def test_one_with_a_clock_is_refused_beside_another_unless_nothing_is_left_to_run(project: Path) -> None:
    short: dict[str, Any] = {"strategies": ["random"], "seeds": 1, "budget": {"seconds": 0.2}}
    with alone_against_the_clock():
        with pytest.raises(UsageError, match="runs on this machine"):
            go(project, **short)
        assert not (project / "out" / "cells.jsonl").exists()
    before = go(project, **short)
    with alone_against_the_clock():
        assert go(project, **short).rows == before.rows


def test_a_folder_that_has_moved_goes_on_though_both_models_have_one_name(project: Path) -> None:
    for place, name in enumerate(("old", "broken")):
        (project / f"v{place}").mkdir()
        (project / "models" / f"{name}.pt").rename(project / f"v{place}" / "model.pt")
    small: dict[str, Any] = {
        "strategies": ["random"],
        "seeds": 1,
        "pairs": {"old-broken": ["v0/model.pt", "v1/model.pt"]},
    }
    before = go(project, **small)
    assert str(project) not in json.dumps(before.rows)
    moved = project.rename(project.parent / "moved")
    os.chdir(moved)
    assert go(moved, **small).rows == before.rows


def test_an_interrupt_between_cells_and_one_within_a_cell_cost_that_cell_at_most(project: Path) -> None:
    made = go(project, Listening(lambda key, share: key == KEYS[0] and share == 1.0))
    assert made.interrupted
    assert [row["cell"] for row in lines(project)] == KEYS[:1]
    made = go(project, Listening(lambda key, share: key == KEYS[2] and 0 < share < 1))
    assert made.interrupted
    assert [row["cell"] for row in lines(project)] == KEYS[:2]
    assert not (project / "out" / "runs").exists()
    whole = go(project)
    assert not whole.interrupted
    assert [row["cell"] for row in lines(project)] == KEYS


def test_an_interrupted_bench_comes_to_the_same(project: Path, tmp_path: Path) -> None:
    go(project, Listening(lambda key, share: key == KEYS[1]))
    pieces = go(project)
    (project / "out").rename(project / "first")
    whole = go(project)
    assert [without_times(row) for row in pieces.rows] == [without_times(row) for row in whole.rows]


def test_a_cell_that_fails_is_recorded_and_tried_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(a: Any, b: Any, wanted: Any, watcher: Any) -> Any:
        if wanted.seed == 0 and wanted.strategy == "random":
            raise RuntimeError("no luck\ntoday")
        return run(a, b, wanted, watcher)

    monkeypatch.setattr(RUN, failing)
    made = go(project)
    assert [(row["cell"], row["error"]) for row in made.failed] == [(KEYS[1], "RuntimeError: no luck today")]
    assert len(made.done) == 3
    monkeypatch.setattr(RUN, run)
    again = go(project)
    assert not again.failed
    assert [row["cell"] for row in lines(project)] == [*KEYS, KEYS[1]]


def test_more_seeds_are_added_and_fewer_are_left_out(project: Path) -> None:
    go(project, strategies=["random"], seeds=1)
    more = go(project, strategies=["random"], seeds=2)
    assert [row["seed"] for row in more.rows] == [0, 1]
    assert len(lines(project)) == 2
    fewer = go(project, strategies=["random"], seeds=[1])
    assert [row["seed"] for row in fewer.rows] == [1]
    assert fewer.others == 1


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"budget": {"evaluations": 400}}, r"budget.evaluations was 300, is 400"),
        ({"marks": {"queries": [100]}}, r"marks.queries was \[200, 600\], is \[100\]"),
        ({"judge": None}, "judge was"),
        ({"strategies": {"random": {"strategy": "divergence-only"}}}, "strategy.name was random, is divergence-only"),
        ({"pairs": {"old-broken": ["models/old.pt", "models/new.pt"]}}, "pair.b.fingerprint was"),
    ],
)
def test_results_of_a_changed_study_are_not_mixed(project: Path, changed: dict[str, Any], message: str) -> None:
    few: dict[str, Any] = {"strategies": ["random"], "seeds": 1}
    go(project, **few)
    with pytest.raises(UsageError, match=message):
        go(project, **few | changed)
    assert len(lines(project)) == 1


def test_results_of_another_version_are_not_mixed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(project, strategies=["random"], seeds=1)
    monkeypatch.setattr("diffgan.bench.opening.__version__", "9.9.9")
    with pytest.raises(UsageError, match=r"diffgan was .*, is 9\.9\.9.*start anew"):
        go(project, strategies=["random"], seeds=1)


def test_results_of_other_code_are_not_mixed(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go(project, strategies=["random"], seeds=1)
    monkeypatch.setattr("diffgan.bench.opening.code_fingerprint", lambda: "other")
    with pytest.raises(UsageError, match=r"code was .*, is other.*start anew"):
        go(project, strategies=["random"], seeds=1)


def test_runs_that_were_not_kept_are_missed(project: Path) -> None:
    few: dict[str, Any] = {"strategies": ["random"], "seeds": 1}
    go(project, **few)
    teller = Listening()
    assert go(project, teller, **few, keep_runs=True).done
    assert any("The runs of 1 cells" in note and "old-broken/painter/random/0" in note for note in teller.notes)


def test_a_judge_of_other_classes_is_refused(project: Path) -> None:
    (project / "models" / "judge.pt.yaml").write_text("classes: ['3', '2', '1', '0']\n", encoding="utf-8")
    with pytest.raises(ModelError, match=r"judge\.pt has the classes of .* in another order"):
        go(project, strategies=["random"], seeds=1)


def test_without_a_judge_triggers_are_counted(project: Path) -> None:
    row = go(project, strategies=["random"], seeds=1, judge=None).done[0]
    assert row["unique"] > 0
    assert "dv" not in row


def test_a_diversity_is_measured_on_draws(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def fake(images: Any) -> float:
        asked.append(len(images))
        return float(len(asked))

    monkeypatch.setitem(METRICS, "fake", Metric(fake))
    row = go(project, strategies=["random"], seeds=1, diversity={"metrics": ["fake"], "sample": 5, "draws": 3}).done[0]
    assert asked == [5, 5, 5]
    assert row["diversity"] == {"fake": 2.0}


def gan(folder: Path, side: int = 8) -> Path:
    """A folder of `gan train` with an untrained discriminator."""
    architecture = Architecture(latent=5, image=(1, side, side), classes=4, width=4)
    generator, discriminator = seeded_networks(architecture, seed=0)
    about = DataCard(name="d", fingerprint="f", images=4, class_names=("0", "1", "2", "3"), held_out=())
    card = Card(diffgan="0", architecture=architecture, prior=NormalPrior(), data=about, training={})
    write_artifact(folder, generator=generator, discriminator=discriminator, card=card)
    return folder


def test_drfuzz_asks_the_studys_discriminator_and_its_row_tells_which(project: Path) -> None:
    gan(project / "gan")
    made = go(project, strategies=["drfuzz", "drfuzz-free"], baseline="drfuzz", seeds=1, discriminator="gan")
    asked, free = made.done
    assert asked["definition"]["discriminator"]["name"] == "gan"
    assert "discriminator" not in free["definition"]
    assert str(project) not in json.dumps(asked)


def test_a_discriminator_of_other_images_is_told_before_anything_runs(project: Path) -> None:
    gan(project / "gan", side=16)
    with pytest.raises(GeneratorError, match="takes images of 1×16×16"):
        go(project, strategies=["drfuzz"], baseline="drfuzz", discriminator="gan")
    assert not (project / "out" / "cells.jsonl").exists()


def test_no_generator_is_trained_or_opened_for_a_strategy_that_needs_none(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object, **__: object) -> None:
        raise AssertionError("a generator is asked for")

    monkeypatch.setattr("diffgan.preparation.cached_generator", refused)
    monkeypatch.setattr("diffgan.preparation.load_generator", refused)
    made = go(project, strategies=["dflare", "drfuzz-free", "diffchaser"], baseline="dflare", seeds=1)
    assert [(row["status"], row["generator"]) for row in made.rows] == [("done", None)] * 3


def test_a_generator_of_other_images_is_told_before_anything_runs(project: Path) -> None:
    sidecar = project / "models" / "generator.pt.yaml"
    sidecar.write_text(sidecar.read_text().replace("[1, 8, 8]", "[1, 4, 16]"))
    with pytest.raises(GeneratorError, match="makes images of 1×4×16"):
        go(project)
    assert not (project / "out" / "cells.jsonl").exists()


def test_a_setting_that_does_not_fit_is_told_before_anything_runs(project: Path) -> None:
    with pytest.raises(UsageError, match="the strategy random has no setting 'popsize'"):
        go(project, strategies={"odd": {"strategy": "random", "settings": {"popsize": 3}}}, baseline="odd")
    assert not (project / "out" / "cells.jsonl").exists()
