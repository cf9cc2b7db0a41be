"""Images without labels, from wherever a user has them."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from diffgan.datasets import load_dataset
from diffgan.errors import ArchiveError, DataError
from diffgan.images import ImageSpec
from diffgan.selection.choices import HEADER, write_choices
from diffgan.selection.pictures import Pictures, read_pictures
from diffgan.selection.selector import Selector

SPEC = ImageSpec(1, 8, 8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three digits, one below another folder, and a text."""
    images = load_dataset("digits").images
    (tmp_path / "images" / "more").mkdir(parents=True)
    for name, image in zip(("b.png", "more/a.png", "c.png"), images, strict=False):
        Image.fromarray(image[..., 0]).save(tmp_path / "images" / name)
    (tmp_path / "images" / "notes.txt").write_text("none")
    return tmp_path / "images"


def test_pictures_are_called_by_their_files(folder: Path) -> None:
    found = read_pictures(str(folder), SPEC)
    assert found.names == ("b.png", "c.png", "more/a.png")
    assert np.array_equal(found.images, load_dataset("digits").images[[0, 2, 1]])
    assert read_pictures(str(folder / "c.png"), SPEC).names == ("c.png",)
    assert read_pictures(str(folder), ImageSpec(3, 8, 8)).images.shape == (3, 8, 8, 3)


def test_an_npz_needs_no_labels(tmp_path: Path) -> None:
    images = load_dataset("digits").images[:4]
    np.savez(tmp_path / "some.npz", images=images)
    found = read_pictures(str(tmp_path / "some.npz"), SPEC)
    assert found.names == ("0", "1", "2", "3")
    assert np.array_equal(found.images, images)
    assert len(read_pictures("digits:test", SPEC).images) == len(load_dataset("digits:test"))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("none", "There are no images none"),
        ("empty", "holds no pictures"),
        ("bad.npz", "no complete"),
        ("x.npz", "no images"),
    ],
)
def test_what_is_no_picture_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str, said: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("empty").mkdir()
    Path("bad.npz").write_bytes(b"noise")
    np.savez("x.npz", pictures=np.zeros(3))
    with pytest.raises(DataError, match=said):
        read_pictures(source, SPEC)


def test_another_size_is_said(folder: Path) -> None:
    with pytest.raises(DataError, match="has images of 1×8×8; expected 1×9×9"):
        read_pictures(str(folder), ImageSpec(1, 9, 9))


def test_the_table_says_who_is_asked_and_what_it_answers(trained: Path, tmp_path: Path) -> None:
    images = load_dataset("digits:test").images[:40]
    out = tmp_path / "out.csv"
    with Selector.load(trained) as selector:
        names = ("=1+1", *map(str, range(1, 40)))
        asked_b = write_choices(selector, Pictures(names, images), out)
        said = selector.select(load_dataset("digits:test").floats()[:40])
        with pytest.raises(ArchiveError, match="nothing is overwritten"):
            write_choices(selector, Pictures(names, images), out)
    rows = list(csv.DictReader(out.open(encoding="utf-8")))
    assert tuple(rows[0]) == HEADER
    assert rows[0]["image"] == "'=1+1"
    assert [row["model"] == "lower.onnx" for row in rows] == said.chose_b.tolist()
    assert asked_b == said.chose_b.sum()
    assert [int(row["label"]) for row in rows] == said.answers.argmax(axis=1).tolist()
    assert float(rows[3]["confidence"]) == pytest.approx(said.answers[3].max(), abs=1e-4)
    assert float(rows[3]["probability"]) == pytest.approx(said.probability[3], abs=1e-4)
