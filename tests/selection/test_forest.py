"""The forest: from a seed, to a file and back, and what is not opened."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import skops.io
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.selection.forest import check_types, fingerprint, grow, probability_of_b, read_forest, write_forest

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(200, 6)).astype(np.float32)
RIGHT = FEATURES[:, 0] + 0.3 * RNG.normal(size=200) > 1


@pytest.fixture
def forest() -> RandomForestClassifier:
    return grow(FEATURES, RIGHT, seed=0, trees=10)


def test_the_same_seed_gives_the_same_forest(forest: RandomForestClassifier) -> None:
    same, other = (grow(FEATURES, RIGHT, seed=seed, trees=10) for seed in (0, 1))
    assert fingerprint(same) == fingerprint(forest) != fingerprint(other)
    assert np.array_equal(probability_of_b(same, FEATURES), probability_of_b(forest, FEATURES))


def test_it_has_a_hundred_trees_and_weighs_classes_alike() -> None:
    forest = grow(FEATURES, RIGHT, seed=0)
    assert (len(forest.estimators_), forest.class_weight) == (100, "balanced")


def test_a_written_forest_is_read_as_it_was(forest: RandomForestClassifier, tmp_path: Path) -> None:
    write_forest(tmp_path / "f.skops", forest)
    again = read_forest(tmp_path / "f.skops", features=6)
    assert np.array_equal(probability_of_b(again, FEATURES), probability_of_b(forest, FEATURES))
    assert fingerprint(again) == fingerprint(forest)


def test_no_images_have_no_probabilities(forest: RandomForestClassifier) -> None:
    assert probability_of_b(forest, FEATURES[:0]).shape == (0,)


def refused(path: Path, said: str) -> None:
    with pytest.raises(UnsafeFileError, match=said) as caught:
        read_forest(path, features=6)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "thing",
    [partial(print, "run"), np.random.RandomState(0), LogisticRegression().fit(FEATURES, RIGHT), {"call": len}],
    ids=["partial", "random state", "another model", "function"],
)
def test_a_file_with_anything_else_is_not_opened(thing: object, tmp_path: Path) -> None:
    skops.io.dump(thing, tmp_path / "f.skops")
    refused(tmp_path / "f.skops", "which a forest does not need")


def test_something_else_within_a_forest_is_not_opened(forest: RandomForestClassifier, tmp_path: Path) -> None:
    forest.verbose = partial(print, "run")
    skops.io.dump(forest, tmp_path / "f.skops")
    refused(tmp_path / "f.skops", r"functools\.partial")


def rewritten(path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """The same file with another schema."""
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    schema = json.loads(members["schema.json"])
    change(schema)
    members["schema.json"] = json.dumps(schema).encode()
    with zipfile.ZipFile(path, "w") as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


def test_a_known_type_that_is_built_otherwise_is_not_opened(forest: RandomForestClassifier, tmp_path: Path) -> None:
    write_forest(tmp_path / "f.skops", forest)

    def change(schema: dict[str, Any]) -> None:
        schema["content"]["content"]["n_jobs"] = {
            "__class__": "dict",
            "__module__": "builtins",
            "__loader__": "OperatorFuncNode",
        }

    with pytest.raises(UnsafeFileError, match="OperatorFuncNode"):
        check_types(rewritten(tmp_path / "f.skops", change))


@pytest.mark.parametrize("column", ["left_child", "right_child", "feature"])
def test_a_tree_that_points_beyond_itself_is_not_used(
    forest: RandomForestClassifier, tmp_path: Path, column: str
) -> None:
    tree = forest.estimators_[3].tree_
    state = tree.__getstate__()
    state["nodes"][column][0] = 1_000_000
    tree.__setstate__(state)
    write_forest(tmp_path / "f.skops", forest)
    refused(tmp_path / "f.skops", "points beyond itself")


def test_a_tree_that_goes_in_circles_is_not_used(forest: RandomForestClassifier, tmp_path: Path) -> None:
    tree = forest.estimators_[0].tree_
    state = tree.__getstate__()
    state["nodes"]["left_child"][0] = 0
    tree.__setstate__(state)
    write_forest(tmp_path / "f.skops", forest)
    refused(tmp_path / "f.skops", "points beyond itself")


def test_a_list_in_place_of_a_forest_is_not_used(tmp_path: Path) -> None:
    skops.io.dump(["a", "b"], tmp_path / "f.skops")
    refused(tmp_path / "f.skops", "holds a list")


@pytest.mark.parametrize("keep", [0, 100, 0.5], ids=["empty", "its beginning", "half"])
def test_a_damaged_file_is_a_line(forest: RandomForestClassifier, tmp_path: Path, keep: float) -> None:
    path = tmp_path / "f.skops"
    write_forest(path, forest)
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else int(keep)])
    with pytest.raises(ModelError, match="cannot be read as a selector's forest"):
        read_forest(path, features=6)
    with pytest.raises(ModelError, match="cannot be read"):
        read_forest(tmp_path / "none.skops", features=6)


def test_other_features_are_said(forest: RandomForestClassifier, tmp_path: Path) -> None:
    write_forest(tmp_path / "f.skops", forest)
    with pytest.raises(ModelError, match="takes 6 features, but there are 7"):
        read_forest(tmp_path / "f.skops", features=7)


def test_a_leaf_speaks_for_several_examples_where_there_are_many() -> None:
    rng = np.random.default_rng(1)
    features, right = rng.normal(size=(1200, 3)).astype(np.float32), rng.random(1200) < 0.5
    many = grow(features, right, seed=0, trees=3)
    few = grow(features[:100], right[:100], seed=0, trees=3)
    for forest, least in ((many, 6), (few, 1)):
        leaves = [tree.tree_.n_node_samples[tree.tree_.children_left == -1].min() for tree in forest.estimators_]
        assert min(leaves) >= min(least, 3)
        assert forest.min_samples_leaf == least
