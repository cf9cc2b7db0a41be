"""The random forest: grown from a seed, written without pickle, and looked into before it is read again."""

from __future__ import annotations

import hashlib
import json
import warnings
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.system import available_cores

if TYPE_CHECKING:
    from sklearn.ensemble import RandomForestClassifier

Mask = NDArray[np.bool_]
Float32s = NDArray[np.float32]

TREES = 100
#: A leaf speaks for at least this part of the examples: where it is a single one, the weights of the classes have no
#: say, and the rare one is overlooked.
LEAVES = 200

#: Everything that a forest's file may be made of: the type, and how skops builds it. Nothing here can run code.
TRUSTED = frozenset(
    {
        ("sklearn.ensemble._forest.RandomForestClassifier", "ObjectNode"),
        ("sklearn.tree._classes.DecisionTreeClassifier", "ObjectNode"),
        ("sklearn.tree._tree.Tree", "TreeNode"),
        ("builtins.dict", "DictNode"),
        ("builtins.list", "ListNode"),
        ("builtins.tuple", "TupleNode"),
        ("builtins.str", "JsonNode"),
        ("builtins.str", "TypeNode"),
        ("numpy.ndarray", "NdArrayNode"),
        ("numpy.int64", "NdArrayNode"),
        ("numpy.float64", "NdArrayNode"),
    }
)
#: skops does not trust it by itself, since its numbers are places in memory: `_is_sound` looks at them.
_TREE = "sklearn.tree._tree.Tree"

_MOST_UNPACKED = 2 << 30
_AGAIN = "copy the selector's folder again, or train it again"


def grow(features: Float32s, b_is_right: Mask, *, seed: int, trees: int = TREES) -> RandomForestClassifier:
    """A forest that says how probable it is that B is right, not A; classes weigh the same, however rare one is.

    Args:
        features: N x F.
        b_is_right: the right model, of both kinds.
        seed: the same one gives the same forest.
        trees: how many.
    """
    from sklearn.ensemble import RandomForestClassifier

    forest = RandomForestClassifier(
        trees,
        class_weight="balanced",
        min_samples_leaf=max(1, len(features) // LEAVES),
        random_state=seed % 2**32,  # scikit-learn knows no greater ones
        n_jobs=min(available_cores(), 8),
    ).fit(features, b_is_right.astype(np.int64))
    forest.n_jobs = 1  # the sum over trees in one order, so that it is the same each time
    return forest


def probability_of_b(forest: RandomForestClassifier, features: Float32s) -> NDArray[np.float64]:
    """The share of trees, by what their leaves say, that B is right (N)."""
    if not len(features):
        return np.empty(0)
    probability: NDArray[np.float64] = forest.predict_proba(features)[:, 1]
    return probability


def fingerprint(forest: RandomForestClassifier) -> str:
    """Of all trees; the same for the same forest, however its file came out."""
    digest = hashlib.sha256()
    for one in forest.estimators_:
        tree = one.tree_
        for column in (tree.children_left, tree.children_right, tree.feature, tree.threshold, tree.value):
            digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()[:16]


def write_forest(path: Path, forest: RandomForestClassifier) -> None:
    """To a file of skops."""
    from skops.io import dump

    dump(forest, path, compression=zipfile.ZIP_DEFLATED)


def read_forest(path: Path, *, features: int) -> RandomForestClassifier:
    """The forest of a file, once it is certain to hold nothing else.

    Args:
        path: that `write_forest` wrote.
        features: how many the forest has to take.

    Raises:
        UnsafeFileError: it holds a type that no forest needs, or numbers that reach beyond its trees.
        ModelError: it is missing or damaged, or takes other features.
    """
    from sklearn.ensemble import RandomForestClassifier
    from skops.io import load

    check_types(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # another version of scikit-learn: what it reads is checked below
            forest = load(path, trusted=[_TREE])
    except Exception as error:
        raise _damaged(path, error) from error
    if type(forest) is not RandomForestClassifier:
        raise UnsafeFileError(f"{path} holds a {type(forest).__name__}; expected a random forest: {_AGAIN}.")
    try:
        _check_forest(path, forest, features)
    except (AttributeError, TypeError, ValueError, IndexError) as error:
        raise _damaged(path, error) from error
    forest.n_jobs = 1
    return forest


def check_types(path: Path) -> None:
    """Looks through a file of skops, without building anything.

    Raises:
        UnsafeFileError: it holds a type that no forest needs.
        ModelError: it is missing or damaged.
    """
    try:
        with zipfile.ZipFile(path) as file:
            if sum(member.file_size for member in file.infolist()) > _MOST_UNPACKED:
                raise UnsafeFileError(f"{path} would unpack to more than 2 GiB, which no selector needs: {_AGAIN}.")
            schema = json.loads(file.read("schema.json"))
    except UnsafeFileError:
        raise
    except (OSError, ValueError, KeyError, RecursionError, zipfile.BadZipFile) as error:
        raise _damaged(path, error) from error
    foreign = sorted({f"{kind} ({loader})" for kind, loader in _types(schema) if (kind, loader) not in TRUSTED})
    if foreign:
        raise UnsafeFileError(
            f"{path} holds {', '.join(foreign[:5])}, which a forest does not need, and which could run code: it is not "
            f"opened; {_AGAIN}."
        )


def _types(root: Any) -> Iterator[tuple[str, str]]:
    """Every type in a schema with the way that it is built."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            kind = f"{node.get('__module__')}.{node.get('__class__')}"
            if "__loader__" in node:
                yield kind, str(node["__loader__"])
            elif "__reduce__" in node or "__class__" in node:
                yield kind, "unknown"
            if node.get("type") not in (None, "numpy"):
                yield kind, f"array of {node['type']}"
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


def _check_forest(path: Path, forest: Any, features: int) -> None:
    from sklearn.tree import DecisionTreeClassifier

    if list(forest.classes_) != [0, 1] or forest.n_outputs_ != 1 or not forest.estimators_:
        raise ValueError("it does not choose between two")
    if forest.n_features_in_ != features:
        raise ModelError(
            f"The forest in {path} takes {forest.n_features_in_} features, but there are {features}: {_AGAIN}."
        )
    for one in forest.estimators_:
        if type(one) is not DecisionTreeClassifier:
            raise UnsafeFileError(f"{path} holds a {type(one).__name__} in place of a tree: {_AGAIN}.")
        if not _is_sound(one, features):
            raise UnsafeFileError(f"{path} holds a tree that points beyond itself: it is not used; {_AGAIN}.")


def _is_sound(one: Any, features: int) -> bool:
    """Whether a prediction can only end in a leaf: scikit-learn itself follows the numbers without looking."""
    tree = one.tree_
    if not 0 < tree.node_count <= tree.capacity or tree.n_features != features:
        return False
    if tree.n_outputs != 1 or tree.max_n_classes != 2 or one.n_outputs_ != 1 or list(one.classes_) != [0, 1]:
        return False
    left, right, split, value = tree.children_left, tree.children_right, tree.feature, tree.value
    places = np.arange(tree.node_count)
    leaf = left == -1
    inside = ~leaf
    goes_on = (left > places) & (right > places) & (left < tree.node_count) & (right < tree.node_count)
    asks = (split >= 0) & (split < features)
    return bool((goes_on & asks)[inside].all() and np.isfinite(value).all())


def _damaged(path: Path, error: Exception) -> ModelError:
    reason = " ".join(str(error).split())[:160] or type(error).__name__
    return ModelError(f"{path} cannot be read as a selector's forest ({reason}): {_AGAIN}.")
