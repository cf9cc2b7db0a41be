"""The parts of a report by themselves: counts, clusters, thumbnails, axes."""

from __future__ import annotations

import io
from base64 import b64decode
from pathlib import Path

import numpy as np
import pytest

from diffgan.images import ImageSpec
from diffgan.report.album import MOST_LETTERS, Album
from diffgan.report.cells import examples
from diffgan.report.charts import growth, ticks
from diffgan.report.labelled import kinds_doubt
from diffgan.report.landscape import front_of, landscape_of
from diffgan.report.parts import generator_of
from diffgan.report.run import Run
from diffgan.report.traits import beside_real, sharpness, stroke_weight
from tests.report.runs import Plan, reject, write_run


@pytest.mark.parametrize("width", [1, 2, 3, 4, 6])
def test_stroke_weight_is_about_the_width_of_a_stroke(width: int) -> None:
    image = np.zeros((40, 40), dtype=np.uint8)
    image[4:36, 10 : 10 + width] = 255
    assert stroke_weight(image) == pytest.approx(width, abs=1.1)
    assert stroke_weight(255 - image) == stroke_weight(image)


def test_stroke_weight_of_nothing() -> None:
    assert stroke_weight(np.zeros((8, 8), dtype=np.uint8)) == 0
    assert stroke_weight(np.full((8, 8), 255, dtype=np.uint8)) == 0


def test_a_blurred_image_is_less_sharp() -> None:
    sharp = np.zeros((1, 16, 16, 3), dtype=np.uint8)
    sharp[:, :, 8:] = 255
    soft = np.tile(np.linspace(0, 255, 16).astype(np.uint8)[None, None, :, None], (1, 16, 1, 3))
    assert sharpness(sharp)[0] > sharpness(soft)[0]


def test_words_for_a_place_among_real_images() -> None:
    real = np.arange(100.0)
    assert beside_real(np.array([95.0]), real) == "above 95 % of the real images"
    assert beside_real(np.array([9.0]), real) == "below 90 % of the real images"
    assert beside_real(np.array([50.0]), real) == "as in the real images"


def test_the_front_has_nobody_ahead() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 30, (2, 300)).astype(np.float64)
    front = front_of(first, second)
    points = list(zip(first.tolist(), second.tolist(), strict=True))
    best = {
        one for one in points if not any(other != one and other[0] >= one[0] and other[1] >= one[1] for other in points)
    }
    assert {points[place] for place in front} == best
    assert len({(first[place], second[place]) for place in front}) == len(front)


def test_examples_take_turns_and_prefer_the_kept(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", Plan(count=100, cells=5))
    reject(folder, "ssim", [*range(0, 90, 5), *range(1, 100, 5)])
    run = Run.read(folder)
    chosen = examples(run, 10, np.random.default_rng(0))
    assert sorted(run.columns["label_a"][chosen].tolist()) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert run.kept[chosen][run.columns["label_a"][chosen] != 1].all()


def test_clusters_have_a_size_a_representative_and_a_nearest_real_image(tmp_path: Path) -> None:
    from diffgan.datasets import load_dataset

    run, data = Run.read(write_run(tmp_path / "run", Plan(count=150))), load_dataset("digits:test")
    found = landscape_of(run, data)
    assert found is not None
    assert len(found.clusters) >= 3  # the triggers are around three real images
    assert [one.size for one in found.clusters] == sorted((one.size for one in found.clusters), reverse=True)
    assert {one.real for one in found.clusters} == {0, 1, 2}
    for one in found.clusters:
        assert one.size == (found.cluster == one.number).sum()
        assert sum(count for *_, count in one.kinds) <= one.size
        assert (found.cluster[one.members] == one.number).all()
    again = landscape_of(run, data)
    assert again is not None
    assert again.points is not None
    assert np.array_equal(found.points, again.points)  # type: ignore[arg-type]


def test_a_sheet_gives_back_its_images() -> None:
    from PIL import Image

    images = np.random.default_rng(0).integers(0, 256, (7, 5, 3, 3), dtype=np.uint8)
    album = Album(ImageSpec(3, 5, 3))
    assert album.sheet() is None
    assert album.add(images[:4]) == [0, 1, 2, 3]
    assert album.add(images[4:]) == [4, 5, 6]
    sheet = album.sheet()
    assert sheet is not None
    picture = np.asarray(Image.open(io.BytesIO(b64decode(sheet.uri.partition(",")[2]))))
    for place, image in enumerate(images):
        x, y, width, height = map(int, sheet.box(place).split())
        assert np.array_equal(picture[y : y + height, x : x + width], image)


def test_a_sheet_stays_within_its_bytes() -> None:
    album = Album(ImageSpec(3, 64, 64))
    album.add(np.random.default_rng(0).integers(0, 256, (900, 64, 64, 3), dtype=np.uint8))
    sheet = album.sheet()
    assert sheet is not None
    assert len(sheet.uri) <= MOST_LETTERS
    assert 100 < sheet.count <= 900


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 42_261), (0.9987, 1.0001), (0, 3), (2, 2), (0, 1e-9)])
def test_ticks_lie_within(low: float, high: float) -> None:
    found = ticks(low, high)
    assert 1 <= len(found) <= 7
    assert all(low - 1e-12 <= value <= high + 1e-12 for value in found)


def test_growth_of_nothing_is_a_flat_line() -> None:
    chart = growth("t", "x", [("found", "found", np.zeros(0))])
    assert chart.lines[0].path.startswith("M")
    assert "nan" not in chart.lines[0].path


def test_a_run_without_a_generator_says_so(tmp_path: Path) -> None:
    run = Run.read(write_run(tmp_path / "run", Plan(config={"generator": None})))
    assert generator_of(run) == "There is none: the search mutated real images."


def test_a_random_sample_of_the_kinds_raises_no_doubt_and_an_even_one_does() -> None:
    rng = np.random.default_rng(3)
    kinds = np.sort(rng.geometric(0.1, 2000))
    at_random = 0
    for _ in range(300):
        labelled = np.isin(np.arange(2000), rng.choice(2000, 200, replace=False))
        at_random += bool(kinds_doubt(kinds, labelled))
    assert at_random <= 3
    evenly = np.zeros(2000, dtype=np.bool_)
    for kind in np.unique(kinds):
        evenly[np.flatnonzero(kinds == kind)[:6]] = True
    assert kinds_doubt(kinds, evenly)
    assert not kinds_doubt(kinds, np.ones(2000, dtype=np.bool_))
