"""A selector's folder is a model like any other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from diffgan.datasets import load_dataset
from diffgan.errors import DataError, ModelError
from diffgan.images import ImageSpec
from diffgan.models import load_classifier
from diffgan.pipeline import compare
from diffgan.selection.selector import Selector
from diffgan.testing import ClassifierConformance
from tests.selection.world import DATA, World


class TestSelectorConformance(ClassifierConformance):
    @pytest.fixture
    def source(self, trained: Path) -> Path:
        return trained

    @pytest.fixture
    def spec(self) -> ImageSpec:
        return ImageSpec(1, 8, 8)


def test_it_answers_as_the_selector_does_and_counts_what_it_asks(trained: Path) -> None:
    data = load_dataset(DATA)
    model = load_classifier(trained, spec=data.spec)
    with Selector.load(trained) as selector:
        before = model.queries
        assert np.array_equal(model.predict(data.floats()), selector.predict(data.floats()))
        assert model.queries - before == sum(selector.queries.values()) == len(data)
    assert model.name == trained.name
    model.close()


def test_it_can_be_compared_with_one_of_its_models(trained: Path, world: World, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"data": DATA, "generator": world.generator, "strategy": "random", "evaluations": 500}
    made = compare(world.a, trained, out=tmp_path / "run", filters=False, report=False, **asked)
    assert made.summary["unique"] > 0
    assert made.summary["models"]["b"] == trained.name


def test_options_of_a_plain_model_are_refused(trained: Path) -> None:
    with pytest.raises(ModelError, match="leave range out"):
        load_classifier(trained, options={"range": [0, 255]})


def test_a_selector_is_no_data(trained: Path) -> None:
    with pytest.raises(DataError, match="is a selector"):
        load_dataset(trained)
