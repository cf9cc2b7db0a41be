"""compare(): from data and models to a run's folder, its refusals, and going on."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import diffgan
from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import DiffganError
from diffgan.filters.running import FilterWishes, filter_run
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.training import Training
from diffgan.pipeline import Comparison, compare
from diffgan.watching import Silent
from tests.search.pairs import linear

SMALL = TrainingSettings(steps=300, width=4, discriminator_width=8, batch=16, latent=8)


def ten(seed: int, noise: float) -> Any:
    """A model of ten classes."""
    weights = np.random.default_rng(0).normal(size=(64, 10))
    weights = weights + noise * np.random.default_rng(seed).normal(size=weights.shape)

    def predict(images: np.ndarray) -> np.ndarray:
        logits = 3 * (images.reshape(len(images), -1) @ weights)
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)

    return predict


@pytest.fixture(scope="module")
def digits() -> Dataset:
    return load_dataset("digits:test")


@pytest.fixture(scope="module")
def gan(tmp_path_factory: pytest.TempPathFactory, digits: Dataset) -> Path:
    folder = tmp_path_factory.mktemp("gan") / "g"
    Training(digits, SMALL, folder).run()
    return folder


def go(gan: Path, out: Path, noise: float = 0.3, **wanted: Any) -> Comparison:
    asked: dict[str, Any] = {
        "data": "digits:test",
        "evaluations": 1500,
        "strategy": "random",
        "generator": gan,
        "out": out,
        "filters": False,
        "report": False,
    } | wanted
    return compare(ten(1, 0.0), ten(2, noise), **asked)


def test_models_are_not_shown_more_than_the_search_may_show_them(tmp_path: Path) -> None:
    shown: list[int] = []

    def counting(images: np.ndarray) -> Any:
        shown.append(len(images))
        return ten(1, 0.0)(images)

    for name, limit in (("evaluations", 40), ("queries", 80)):
        shown.clear()
        wanted: dict[str, Any] = {"strategy": "drfuzz-free", "out": tmp_path / name, "filters": False, "report": False}
        compare(counting, ten(2, 0.3), data="digits:test", **wanted | {name: limit})
        assert sum(shown) <= 2 * 40 + 10  # the search, the warm-up, and a first look
        assert max(shown) <= 40


def test_a_folder_that_is_taken_is_told_before_anything_is_trained(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "notes.txt").write_text("mine")
    for resume in (False, True):
        with pytest.raises(DiffganError, match=r"not empty|holds no run"):
            compare("no such model", "nor this one", data="no such data", out=tmp_path / "run", resume=resume)


def test_a_run_leaves_its_folder(gan: Path, tmp_path: Path) -> None:
    made = go(gan, tmp_path / "run", seed=4)
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert {"archive.db", "config.yaml", "environment.json", "metrics.jsonl", "summary.json"} <= names
    lines = (tmp_path / "run" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["evaluations"] for line in lines][-1] == 1500
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary == made.summary
    assert summary["evaluations"] == 1500
    assert summary["seed"] == 4
    assert summary["queries"] == {"a": 1500, "b": 1500}
    assert summary["kept"] == summary["unique"] > 0
    assert sum(sum(row.values()) for row in summary["disagreement"].values()) == summary["unique"]
    assert sum(summary["time_share"].values()) == pytest.approx(1, abs=0.01)
    with made.archive() as archive:
        assert archive.count() == summary["unique"]


class Listening(Silent):
    """Remembers remarks, and how far the filters came; may be made to interrupt them, or to spoil their memory."""

    def __init__(self, *, interrupts: bool = False, spoilt: Path | None = None) -> None:
        self.notes: list[str] = []
        self.filters: dict[str, tuple[int, int]] = {}
        self._interrupts, self._spoilt = interrupts, spoilt

    def note(self, text: str) -> None:
        self.notes.append(text)

    @contextmanager
    def filtering(self) -> Iterator[Callable[[str, int, int], None]]:
        if self._spoilt is not None:
            (self._spoilt / "filters.json").mkdir()

        def report(name: str, done: int, total: int) -> None:
            self.filters[name] = done, total
            if self._interrupts and name == "ssim":
                raise KeyboardInterrupt

        yield report


def test_the_filters_speak_after_the_search(gan: Path, tmp_path: Path) -> None:
    watcher = Listening()
    made = go(gan, tmp_path / "run", filters=True, discriminator=gan, watcher=watcher)
    unique, seconds = made.summary["unique"], made.summary["seconds"]
    assert [stage.name for stage in made.filtered.stages] == ["discriminator", "recognisable", "ssim"]  # type: ignore[union-attr]
    assert watcher.filters["ssim"] == (unique, unique)
    assert list(made.summary["filters"]) == ["discriminator", "recognisable", "ssim"]
    assert made.summary["filters"]["ssim"]["passed"] == made.summary["kept"] < unique
    with made.archive() as archive:
        assert archive.count(kept_only=True) == made.summary["kept"]
        assert archive.verdicts.counts()["ssim"][0] == made.summary["kept"]
    more = go(gan, tmp_path / "run", filters=True, discriminator=gan, evaluations=2500, resume=True)
    assert more.summary["filters"]["discriminator"]["before"] == more.summary["unique"] > unique
    assert more.summary["seconds"] > seconds


def test_what_keeps_filters_from_their_work_spoils_nothing(gan: Path, tmp_path: Path) -> None:
    watcher = Listening(spoilt=tmp_path / "run")
    made = go(gan, tmp_path / "run", filters=True, watcher=watcher)
    assert made.filtered is None
    assert made.summary["unique"] == made.summary["kept"] > 0
    assert "filters.json" in watcher.notes[-1]
    assert f"diffgan filter {tmp_path / 'run'}" in watcher.notes[-1]


def test_interrupted_filters_say_how_to_go_on(gan: Path, tmp_path: Path) -> None:
    watcher = Listening(interrupts=True)
    with pytest.raises(KeyboardInterrupt):
        go(gan, tmp_path / "run", filters=True, watcher=watcher)
    assert f"diffgan filter {tmp_path / 'run'}" in watcher.notes[-1]
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["unique"] > 0
    done = filter_run(tmp_path / "run", FilterWishes())
    assert done.triggers == summary["unique"]


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"discriminator": Path("nowhere")}, "nowhere"),
        ({"references": "mnist5k"}, "references"),
    ],
)
def test_a_mistake_in_filters_is_told_before_the_search(
    gan: Path, tmp_path: Path, wanted: dict[str, Any], message: str
) -> None:
    with pytest.raises(DiffganError, match=message):
        go(gan, tmp_path / "run", filters=True, **wanted)
    assert not (tmp_path / "run").exists()


def test_it_is_the_packages_own_function() -> None:
    assert diffgan.compare is compare


def test_going_on_with_a_larger_budget_is_one_long_run(gan: Path, tmp_path: Path) -> None:
    whole = go(gan, tmp_path / "whole", evaluations=2000)
    go(gan, tmp_path / "parts", evaluations=700)
    parts = go(gan, tmp_path / "parts", evaluations=2000, resume=True)
    for one, other in zip(whole.archive().batches(), parts.archive().batches(), strict=True):
        assert np.array_equal(one.ids, other.ids)
        assert np.array_equal(one.evaluation, other.evaluation)
    assert parts.summary["evaluations"] == 2000


def test_going_on_otherwise_shows_the_difference(gan: Path, tmp_path: Path) -> None:
    go(gan, tmp_path / "run")
    with pytest.raises(DiffganError, match="seed was 0, is 1"):
        go(gan, tmp_path / "run", resume=True, seed=1)
    with pytest.raises(DiffganError, match=r"strategy\.name was random, is nsga2"):
        go(gan, tmp_path / "run", resume=True, strategy="nsga2")
    with pytest.raises(DiffganError, match="not empty"):
        go(gan, tmp_path / "run")
    with pytest.raises(DiffganError, match="no run to go on with"):
        go(gan, tmp_path / "none", resume=True)


def test_going_on_under_another_configuration_shows_the_difference(gan: Path, tmp_path: Path) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text("search: {lanes: 8}\n")
    first = go(gan, tmp_path / "run", strategy="dflare", config=str(config))
    assert yaml.safe_load((first.folder / "config.yaml").read_text())["strategy"]["settings"] == {"lanes": 8}
    go(gan, tmp_path / "run", strategy="dflare", config=str(config), resume=True, evaluations=2000)
    config.write_text("search: {lanes: 9}\n")
    with pytest.raises(DiffganError, match=r"strategy\.settings\.lanes was 8, is 9"):
        go(gan, tmp_path / "run", strategy="dflare", config=str(config), resume=True, evaluations=3000)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("serach: {lanes: 8}", "has a section 'serach'; a configuration may have title, classes, augmentation, gan"),
        ("strategy: dflare", r"has a section 'strategy' \(what searches is chosen by --strategy\)"),
        ("search: [lanes, 8]", "search holds a list; expected KEY: VALUE lines"),
    ],
)
def test_a_configuration_that_nobody_would_read_is_refused(gan: Path, tmp_path: Path, text: str, message: str) -> None:
    config = tmp_path / "mine.yaml"
    config.write_text(text + "\n")
    with pytest.raises(DiffganError, match=message):
        go(gan, tmp_path / "run", strategy="dflare", config=str(config))
    assert not (tmp_path / "run").exists()


def test_near_duplicates_are_kept_out(gan: Path, tmp_path: Path) -> None:
    free = go(gan, tmp_path / "free")
    apart = go(gan, tmp_path / "apart", min_distance=0.1)
    assert 0 < apart.summary["unique"] < free.summary["unique"]
    with apart.archive() as archive:
        images = archive.column("images").reshape(apart.summary["unique"], -1).astype(np.float64)
    unit = images / np.linalg.norm(images, axis=1, keepdims=True)
    likeness = unit @ unit.T - 2 * np.eye(len(unit))
    assert 1 - likeness.max() > 0.1 - 1e-6


def test_a_pair_that_never_disagrees_is_no_failure(gan: Path, tmp_path: Path) -> None:
    made = go(gan, tmp_path / "run", noise=0.0)
    assert made.summary["unique"] == 0
    assert made.summary["disagreement"] == {}


def test_a_pair_that_always_disagrees_is_no_failure(gan: Path, tmp_path: Path) -> None:
    def inverse(images: np.ndarray) -> np.ndarray:
        return np.asarray(ten(1, 0.0)(images)[:, ::-1])

    made = compare(
        ten(1, 0.0),
        inverse,
        data="digits:test",
        generator=gan,
        out=tmp_path / "run",
        evaluations=600,
        strategy="random",
    )
    assert made.summary["triggers"] == 600


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        ({"evaluations": 0}, "more than 0"),
        ({"evaluations": None, "budget": "soon"}, "budget"),
        ({"evaluations": None, "budget": "0s"}, "0"),
        ({"strategy": "best"}, "no strategy 'best'"),
        ({"divergence": "far"}, "far"),
        ({"divergence": "absolute"}, "threshold"),
        ({"divergence": "absolute:x"}, "no number"),
        ({"divergence": "absolute:0.5"}, "regression"),
        ({"min_distance": 2.0}, "min-distance"),
        ({"strategy": "diffchaser", "batch": 8}, "population"),
        ({"data": "nowhere.npz"}, "nowhere"),
    ],
)
def test_what_does_not_fit_says_why(gan: Path, tmp_path: Path, wanted: dict[str, Any], message: str) -> None:
    with pytest.raises(DiffganError, match=message):
        go(gan, tmp_path / "run", **wanted)
    assert not (tmp_path / "run").exists()


def test_folders_may_be_given_as_texts(gan: Path, tmp_path: Path) -> None:
    made = go(gan, str(tmp_path / "text"), evaluations=100)  # type: ignore[arg-type]
    assert made.folder == tmp_path / "text"


def test_a_setting_that_does_not_fit_is_told_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: Any, **__: Any) -> None:
        raise AssertionError("classifiers were opened, or a generator was trained")

    for name in ("generator_of", "recogniser_of"):
        monkeypatch.setattr(f"diffgan.pipeline.{name}", refused)
    with pytest.raises(DiffganError, match=r"explore = 2 does not fit the strategy nsga2"):
        go(tmp_path, tmp_path / "run", strategy="nsga2", settings={"explore": 2})
    assert not (tmp_path / "run").exists()


def test_models_of_other_classes_are_refused(gan: Path, tmp_path: Path) -> None:
    with pytest.raises(DiffganError, match=r"10 classes and .* 4"):
        compare(ten(1, 0.0), linear(1), data="digits:test", generator=gan, out=tmp_path / "run", evaluations=10)


def test_a_generator_of_other_images_is_refused(gan: Path, tmp_path: Path) -> None:
    images = np.random.default_rng(0).integers(0, 256, (300, 9, 9, 1), dtype=np.uint8)
    data = Dataset.checked("other", images, np.arange(300) % 10)

    def of_nine(images: np.ndarray) -> np.ndarray:
        return np.full((len(images), 10), 0.1, dtype=np.float32)

    with pytest.raises(DiffganError, match="1×8×8, but other has 1×9×9"):
        compare(of_nine, of_nine, data=data, generator=gan, out=tmp_path / "run", evaluations=10)


def test_a_generator_is_trained_once_and_then_reused(tmp_path: Path) -> None:
    path = tmp_path / "quick.yaml"
    path.write_text("gan: {steps: 20, width: 4, discriminator_width: 4, latent: 8}\n")
    watcher = Listening()
    for seed, name in enumerate(("one", "two")):
        compare(
            ten(1, 0.0),
            ten(2, 0.3),
            data="digits:test",
            config=str(path),
            out=tmp_path / name,
            seed=seed,
            evaluations=100,
            strategy="random",
            filters=False,
            report=False,
            watcher=watcher,
        )
    assert [note.startswith("Using the generator trained earlier on digits:test") for note in watcher.notes] == [True]


@pytest.mark.parametrize("strategy", ["drfuzz-free", "dflare", "diffchaser"])
def test_a_strategy_that_needs_no_generator_trains_none(
    strategy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(*_: Any, **__: Any) -> Any:
        raise AssertionError("a generator is trained")

    monkeypatch.setattr("diffgan.preparation.cached_generator", forbidden)
    made = compare(
        ten(1, 0.0),
        ten(2, 0.3),
        data="digits:test",
        evaluations=1500,
        strategy=strategy,
        out=tmp_path / "run",
        filters=False,
        report=False,
    )
    assert made.summary["evaluations"] == 1500
    assert made.summary["unique"] > 0
    with made.archive() as archive:
        assert archive.column("seed_index").min() >= 0


def test_drfuzz_asks_the_discriminator_beside_the_generator(gan: Path, tmp_path: Path) -> None:
    made = go(gan, tmp_path / "run", strategy="drfuzz")
    assert 0 < made.summary["search"]["passed"] < 1
    own = go(gan, tmp_path / "own", strategy="drfuzz", generator=None, discriminator=gan)
    assert own.summary["unique"] == made.summary["unique"]
    with pytest.raises(DiffganError, match=r"drfuzz asks a discriminator .* --strategy drfuzz-free"):
        go(gan, tmp_path / "none", strategy="drfuzz", generator=None)
