"""Suites: equal bytes for equal content, exact replay, and damage that is told in a line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from diffgan.check.outcomes import INVALID, UNLABELLED, Outcome
from diffgan.check.suites import check_destination, read_suite, write_suite
from diffgan.datasets import Dataset
from diffgan.errors import DataError, UsageError
from diffgan.images import hex_id, image_ids
from tests.search.pairs import pair


def dataset(size: int = 8, classes: int = 4) -> Dataset:
    images = np.random.default_rng(0).integers(0, 256, (20, size, size, 1), dtype=np.uint8)
    return Dataset.checked("data", images, np.arange(20) % classes)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    data = dataset()
    ids = image_ids(data.images).tolist()
    labels = dict(zip(ids, [0, 1, 2, 3, UNLABELLED, INVALID] * 4, strict=False))
    write_suite(tmp_path / "suite", data, images=data.images, labels=labels, machine=frozenset(ids[:2]))
    return tmp_path / "suite"


def test_it_comes_back_as_it_was(saved: Path) -> None:
    data = dataset()
    suite = read_suite(saved, data)
    ids = image_ids(data.images).tolist()
    assert len(suite) == 20
    assert [suite.labels[number] for number in ids[:6]] == [0, 1, 2, 3, UNLABELLED, INVALID]
    assert suite.machine == set(ids[:2])
    ((found, images),) = list(suite.pages())
    assert [hex_id(number) for number in found] == sorted(map(hex_id, ids))
    assert np.array_equal(image_ids(images), found)


def test_equal_content_gives_equal_files_in_any_order(saved: Path, tmp_path: Path) -> None:
    data, suite = dataset(), read_suite(saved, dataset())
    turned = data.images[::-1].copy()
    write_suite(tmp_path / "again", data, images=turned, labels=suite.labels, machine=suite.machine)
    for name in ("suite.json", "suite.npz"):
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()


def test_replay_shows_each_image_to_both(saved: Path) -> None:
    said = read_suite(saved, dataset()).replay(pair(noise=0.0))
    assert len(said) == 20
    assert said.counts()[Outcome.REGRESSION] == 0
    assert np.array_equal(said.old, said.new)


def change_a_pixel(folder: Path) -> None:
    with np.load(folder / "suite.npz") as arrays:
        images = arrays["images"].copy()
    images[3, 0, 0, 0] ^= 1
    np.savez(folder / "suite.npz", images=images)


def cut(folder: Path) -> None:
    path = folder / "suite.npz"
    path.write_bytes(path.read_bytes()[:500])


def lose(folder: Path) -> None:
    (folder / "suite.npz").unlink()


def grow(folder: Path) -> None:
    np.savez(folder / "suite.npz", images=np.zeros((999, 8, 8, 1), dtype=np.uint8))


def edit(**changes: object) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        content = json.loads((folder / "suite.json").read_text())
        (folder / "suite.json").write_text(json.dumps(content | changes))

    return change


def garble(folder: Path) -> None:
    (folder / "suite.json").write_text("{")


@pytest.mark.parametrize(
    "spoil", [change_a_pixel, cut, lose, grow, garble, edit(format="other"), edit(classes=["a"]), edit(triggers=[{}])]
)
def test_damage_is_told(saved: Path, spoil: Callable[[Path], None]) -> None:
    spoil(saved)
    with pytest.raises(DataError, match="is damaged"):
        read_suite(saved, dataset())


def test_suites_of_other_data_are_refused(saved: Path) -> None:
    with pytest.raises(DataError, match="8×8"):
        read_suite(saved, dataset(size=9))
    with pytest.raises(DataError, match="other classes"):
        read_suite(saved, dataset(classes=3))


def test_an_empty_one_and_none_are_refused(tmp_path: Path) -> None:
    data = dataset()
    write_suite(tmp_path / "empty", data, images=data.images[:0], labels={}, machine=frozenset())
    with pytest.raises(DataError, match="no triggers"):
        read_suite(tmp_path / "empty", data)
    with pytest.raises(UsageError, match="holds no suite"):
        read_suite(tmp_path, data)
    with pytest.raises(UsageError, match="is no folder"):
        read_suite(tmp_path / "nowhere", data)


def test_only_suites_are_replaced(saved: Path, tmp_path: Path) -> None:
    check_destination(saved)
    check_destination(tmp_path / "new")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(UsageError, match="is no suite"):
        check_destination(tmp_path / "mine")
