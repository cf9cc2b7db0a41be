"""What both models answer: asked here, or known from the archives."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diffgan.archive import Archive
from diffgan.datasets import load_dataset
from diffgan.images import to_floats
from diffgan.models import load_classifier
from diffgan.selection.answers import ask_pair, unlabelled
from diffgan.selection.pairs import pair_of_runs
from tests.selection.world import World, search


def test_models_that_are_given_stay_open_and_former_queries_are_not_counted(world: World) -> None:
    data = load_dataset("digits:judge")
    a, b = (load_classifier(path, spec=data.spec) for path in (world.a, world.b))
    floats = to_floats(data.images[:7])
    a.predict(floats)
    answers, queries = ask_pair(pair_of_runs([world.run]), data, given=(a, b))
    assert queries == {"a": len(data), "b": len(data)}
    np.testing.assert_allclose(b.predict(floats), answers.b[:7], atol=1e-6)


def test_a_run_without_triggers_is_no_hindrance(world: World, tmp_path: Path) -> None:
    for seed in range(50):
        empty = tmp_path / f"run{seed}"
        search(world, empty, seed, evaluations=1)
        with Archive.open(empty / "archive.db", read_only=True) as archive:
            if not archive.count():
                break
    else:
        pytest.fail("every single image was a trigger")
    nobody = np.empty(0, dtype=np.int64)
    for runs in ([world.run, empty], [empty, world.run]):
        found = unlabelled(runs, nobody, seed=0)
        assert len(found) > 100
        assert found.a.shape == found.b.shape == (len(found), 10)
    with Archive.open(world.run / "archive.db", read_only=True) as archive:
        everybody = archive.column("ids")
    none = unlabelled([world.run, empty], everybody, seed=0)
    assert (none.images.shape, none.a.shape) == ((0, 8, 8, 1), (0, 10))
