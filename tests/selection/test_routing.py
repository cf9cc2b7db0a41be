"""Accuracy and cost on labelled data, against the same figures worked out directly."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diffgan.datasets import load_dataset
from diffgan.errors import DataError
from diffgan.models import load_classifier
from diffgan.selection.routing import route
from diffgan.selection.selector import Selector
from tests.selection.world import World


def test_the_figures_are_those_of_the_models(trained: Path, world: World) -> None:
    data = load_dataset("digits:judge")
    a, b = (load_classifier(path, spec=data.spec).predict(data.floats()) for path in (world.a, world.b))
    right_a, right_b = a.argmax(axis=1) == data.labels, b.argmax(axis=1) == data.labels
    told: list[tuple[int, int]] = []
    with Selector.load(trained) as selector:
        found = route(selector, data, progress=lambda done, whole: told.append((done, whole)))
        said = selector.select(data.floats())
    ways = found.ways
    assert (ways["A"].right, ways["B"].right) == (right_a.sum(), right_b.sum())
    assert ways["both"].right == ((a + b).argmax(axis=1) == data.labels).sum()
    assert ways["selector"].right == np.where(said.chose_b, right_b, right_a).sum()
    assert found.either_right == (right_a | right_b).sum()
    count = len(data)
    assert ways["both"].queries == {"a": count, "b": count}
    assert ways["A"].queries == {"a": count, "b": 0}
    asked = ways["selector"].queries
    assert asked == {"a": int((~said.chose_b).sum()), "b": int(said.chose_b.sum())}
    assert all(way.seconds > 0 for way in ways.values())
    rival = ways["A"].against
    assert rival is not None
    assert rival.only_selector == int((said.chose_b & right_b & ~right_a).sum())
    assert found.choices is not None
    assert found.choices.images == (right_a != right_b).sum()
    assert told[-1] == (3 * count, 3 * count)
    assert not found.is_training_data


def test_the_data_of_the_training_is_told(trained: Path) -> None:
    with Selector.load(trained) as selector:
        assert route(selector, load_dataset("digits:test")).is_training_data
        big = np.zeros((2, 28, 28, 1), dtype=np.uint8)
        data = type(load_dataset("digits")).checked("big", big, np.array([0, 1]))
        with pytest.raises(DataError, match="big has images of 1×28×28; expected 1×8×8"):
            route(selector, data)
