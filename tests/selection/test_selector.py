"""Training, saving, loading and choosing, with real models on digits."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import ArchiveError, DataError, DiffganError, ModelError, UsageError
from diffgan.images import to_floats
from diffgan.models import load_classifier
from diffgan.selection.evaluation import check_other_runs, far_triggers
from diffgan.selection.examples import read_examples
from diffgan.selection.selector import Chooser, Selector, on_data, threshold_of
from diffgan.selection.training import Wanted, train_selector
from diffgan.stats import cosine_distances
from tests.selection.world import World, search, write_onnx


@pytest.fixture
def copy(trained: Path, tmp_path: Path) -> Path:
    """A selector's folder to spoil."""
    return Path(shutil.copytree(trained, tmp_path / "copy"))


def threes() -> Dataset:
    """Real images of one class."""
    data = load_dataset("digits:judge")
    return data.part("threes", np.flatnonzero(data.labels == 3))


def changed(folder: Path, **parts: Any) -> None:
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | parts))


def test_the_card_holds_what_became_of_the_labels(trained: Path, world: World) -> None:
    card = Chooser.load(trained).card
    counts = card.counts
    labelled = counts.invalid + counts.conflicts + counts.both_wrong + counts.only_a + counts.only_b
    assert labelled == counts.labelled == counts.by_machine > 500
    assert card.pair.names == ("upper.onnx", "lower.onnx")
    assert card.queries["a"] >= len(load_dataset("digits:test"))
    assert (card.forest.trees, card.forest.features, card.features.name) == (100, 16 + 96, "mimic")
    assert card.threshold == threshold_of(card.data.only_a, card.data.only_b)
    assert card.cross_validation is not None
    assert card.cross_validation.scores is not None
    assert card.held_out is not None
    assert card.held_out.runs == (str(world.other),)


def test_it_chooses_better_than_any_rule_that_does_not_look(trained: Path) -> None:
    held_out = Chooser.load(trained).card.held_out
    assert held_out is not None
    scores = held_out.scores
    assert scores is not None
    assert scores.images == held_out.far < held_out.examples
    assert scores.balanced.low > 0.55
    assert scores.accuracy.value > max(scores.rivals[name].accuracy for name in ("always A", "always B"))


def test_held_out_triggers_are_far_from_all_that_was_seen(trained: Path, world: World) -> None:
    chooser = Chooser.load(trained)
    examples = read_examples([world.other])
    far = examples.part(np.flatnonzero(far_triggers(chooser, examples)))
    assert chooser.card.held_out is not None
    assert len(far) == chooser.card.held_out.far > 0
    assert cosine_distances(far.images, chooser.seen).min() > chooser.card.limits.pixels
    features = chooser.learned.features
    assert cosine_distances(features(far.images), features(chooser.seen)).min() > chooser.card.limits.learned


def test_copies_of_training_images_are_not_held_out(trained: Path, world: World) -> None:
    chooser = Chooser.load(trained)
    assert not far_triggers(chooser, read_examples([world.run])).any()


@pytest.mark.parametrize("features", ["mimic", "learned", "pixels"])
def test_the_same_seed_gives_the_same_selector(world: World, tmp_path: Path, features: str) -> None:
    wanted = Wanted(features=features, parts=0, limit=200, seed=3)
    first = train_selector([world.run], tmp_path / "first", wanted)
    second = train_selector([world.run], tmp_path / "second", wanted)
    assert first.card == second.card
    images = load_dataset("digits:test").images[:50]
    assert np.array_equal(first.probability_of_b(images), second.probability_of_b(images))
    assert np.array_equal(Chooser.load(tmp_path / "first").probability_of_b(images), first.probability_of_b(images))
    assert Chooser.load(tmp_path / "first").card == first.card


def test_only_the_chosen_model_is_asked(trained: Path, world: World) -> None:
    data = load_dataset("digits:test")
    a, b = (load_classifier(path, spec=data.spec) for path in (world.a, world.b))
    floats = data.floats()
    with Selector.load(trained) as selector:
        before = [model.queries for model in selector.models]
        said = selector.select(floats)
        asked = [model.queries - count for model, count in zip(selector.models, before, strict=True)]
        assert selector.queries == {"a": asked[0], "b": asked[1]}
        assert asked == [int((~said.chose_b).sum()), int(said.chose_b.sum())]
        assert min(asked) > 0
        assert sum(asked) == len(data)
        chosen = np.where(said.chose_b[:, None], b.predict(floats), a.predict(floats))
        assert np.allclose(said.answers, chosen, atol=1e-6)
        assert (said.probability >= 0.5).all()
        assert np.array_equal(selector.predict(floats), said.answers)
        assert selector.predict(floats[:0]).shape == (0, 10)


def test_vgg16_is_found_again_and_may_have_moved(world: World, testbed: Path, tmp_path: Path) -> None:
    weights = testbed / "features" / "vgg16_features_lpips.pth"
    link = tmp_path / "here.pth"
    link.symlink_to(weights)
    wanted = Wanted(features="vgg16", weights=link, parts=0, limit=80)
    made = train_selector([world.run], tmp_path / "out", wanted)
    images = load_dataset("digits:test").images[:20]
    assert np.array_equal(Chooser.load(tmp_path / "out").probability_of_b(images), made.probability_of_b(images))
    link.unlink()
    with pytest.raises(ModelError, match=r"here\.pth"):
        Chooser.load(tmp_path / "out")
    again = Chooser.load(tmp_path / "out", weights=weights)
    assert np.array_equal(again.probability_of_b(images), made.probability_of_b(images))


def test_another_threshold_chooses_otherwise(trained: Path) -> None:
    floats = load_dataset("digits:test").floats()
    for threshold, asked in ((0.0, "b"), (1.0, "a")):
        with Selector.load(trained, threshold=threshold) as selector:
            selector.predict(floats)
            assert selector.queries[asked] >= 0.9 * len(floats)


def test_odds_of_the_data_move_the_probability() -> None:
    assert on_data(np.array([0.5]), 0.5).tolist() == [0.5]
    assert on_data(np.array([0.25]), 0.25)[0] == pytest.approx(0.5)
    assert on_data(np.array([0.5]), 0.1)[0] == pytest.approx(0.9)
    assert (np.diff(on_data(np.linspace(0, 1, 11), 0.2)) > 0).all()


def test_a_card_without_its_pair_is_opened_by_naming_the_models(copy: Path, world: World, tmp_path: Path) -> None:
    moved = Path(shutil.copy(world.a, tmp_path / "moved.onnx"))
    pair = json.loads((copy / "card.json").read_text())["pair"]
    pair["a"]["source"] = str(tmp_path / "gone.onnx")
    changed(copy, pair=pair)
    with pytest.raises(ModelError, match=r"gone\.onnx, is not there: .*--model-a"):
        Selector.load(copy)
    Selector.load(copy, models=(moved, None)).close()
    with pytest.raises(ModelError, match="is not the model A of this pair"):
        Selector.load(copy, models=(world.judge, None))


def test_models_that_are_named_are_found_there_again(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for model in (world.a, world.b):
        shutil.copy(model, tmp_path / f"copy-{model.name}")
    monkeypatch.chdir(tmp_path)
    wanted = Wanted(features="pixels", parts=0, models=("copy-upper.onnx", "copy-lower.onnx"))
    train_selector([world.run], tmp_path / "out", wanted)
    monkeypatch.chdir("/")
    with Selector.load(tmp_path / "out") as selector:
        assert selector.card.pair.names == ("copy-upper.onnx", "copy-lower.onnx")


@pytest.mark.parametrize("source", ["py:os:getcwd", "http://127.0.0.1:9/v2/models/m"])
def test_code_and_addresses_are_not_opened_because_a_file_says_so(copy: Path, source: str) -> None:
    pair = json.loads((copy / "card.json").read_text())["pair"]
    pair["b"]["source"] = source
    changed(copy, pair=pair)
    with pytest.raises(UsageError, match="--model-b"):
        Selector.load(copy)


@pytest.mark.parametrize("file", ["card.json", "forest.skops", "learned.safetensors", "mimic.safetensors", "seen.npz"])
@pytest.mark.parametrize("how", ["gone", "cut", "noise"])
def test_a_damaged_folder_is_one_line(copy: Path, file: str, how: str) -> None:
    content = (copy / file).read_bytes()
    if how == "gone":
        (copy / file).unlink()
    else:
        (copy / file).write_bytes(content[: len(content) // 2] if how == "cut" else b"\x00noise" * 50)
    with pytest.raises(DiffganError) as caught:
        Chooser.load(copy)
    assert file in str(caught.value)


def test_parts_of_another_selector_are_noticed(copy: Path, world: World, tmp_path: Path) -> None:
    train_selector([world.run], tmp_path / "other", Wanted(parts=0, limit=100, seed=9))
    shutil.copy(tmp_path / "other" / "forest.skops", copy / "forest.skops")
    with pytest.raises(ModelError, match="not what the card says"):
        Chooser.load(copy)


@pytest.mark.parametrize(
    ("part", "said"),
    [({"version": 99}, "update diffgan"), ({"threshold": 2}, "damaged"), ({"note": 1}, "damaged")],
)
def test_a_card_of_another_form_is_refused(copy: Path, part: dict[str, Any], said: str) -> None:
    changed(copy, **part)
    with pytest.raises(ModelError, match=said):
        Chooser.load(copy)


def test_images_of_another_size_are_refused(trained: Path) -> None:
    with Selector.load(trained) as selector, pytest.raises(DataError, match="1×28×28, but this selector is for 1×8×8"):
        selector.predict(np.zeros((2, 1, 28, 28), dtype=np.float32))


def test_a_run_of_another_pair_is_refused(trained: Path, world: World, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    third = write_onnx(tmp_path / "third.onnx", rng.normal(size=(64, 10)).astype(np.float32), np.zeros(10, np.float32))
    other = replace(world, b=third)
    search(other, tmp_path / "run", 5, evaluations=300)
    with pytest.raises(UsageError, match=r"third\.onnx.*a selector is for one pair"):
        train_selector([world.run, tmp_path / "run"], tmp_path / "out")
    with pytest.raises(UsageError, match="not the pair of this selector"):
        check_other_runs(Chooser.load(trained).card.pair, (), [tmp_path / "run"])
    with pytest.raises(UsageError, match="not the pair of this selector"):
        train_selector([world.run], tmp_path / "out", Wanted(test=[tmp_path / "run"]))
    assert not (tmp_path / "out").exists()


def test_the_runs_of_the_training_are_no_test(trained: Path, world: World) -> None:
    with pytest.raises(UsageError, match="is a run of the training"):
        check_other_runs(Chooser.load(trained).card.pair, [str(world.run)], [world.other, world.run])


def test_a_run_of_another_task_is_refused(world: World, tmp_path: Path) -> None:
    run = Path(shutil.copytree(world.run, tmp_path / "run"))
    config = yaml.safe_load((run / "config.yaml").read_text())
    config["models"]["a"]["options"]["task"] = "regression"
    (run / "config.yaml").write_text(yaml.safe_dump(config))
    with pytest.raises(UsageError, match="for regression"):
        train_selector([run], tmp_path / "out")


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (Wanted(features="hog"), "expected one of"),
        (Wanted(limit=5), "too few"),
        (Wanted(parts=1), "2 parts or more"),
        (Wanted(features="vgg16", weights=Path("none.pth")), r"none\.pth"),
        (Wanted(data=threes()), "All images of threes are of one class"),
    ],
)
def test_a_mistake_writes_nothing(world: World, tmp_path: Path, wanted: Wanted, said: str) -> None:
    with pytest.raises(DiffganError, match=said):
        train_selector([world.run], tmp_path / "out", wanted)
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_overwritten(world: World, tmp_path: Path) -> None:
    with pytest.raises(ArchiveError, match="nothing is overwritten"):
        train_selector([world.run], tmp_path)
    with pytest.raises(UsageError, match="named twice"):
        train_selector([world.run, world.run], tmp_path / "out")


def test_several_runs_are_learned_from_together(world: World, tmp_path: Path) -> None:
    chooser = train_selector([world.run, world.other], tmp_path / "out", Wanted(features="pixels", parts=0))
    counts = [read_examples([run]).counts for run in (world.run, world.other)]
    assert chooser.card.counts.only_a <= sum(count.only_a for count in counts)
    assert chooser.card.counts.only_a > max(count.only_a for count in counts)
    images = load_dataset("digits:test").images[:3]
    assert np.array_equal(to_floats(images).shape, (3, 1, 8, 8))
