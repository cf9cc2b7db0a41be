"""Machine labels by models simple enough to follow by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.datasets import Dataset
from diffgan.errors import DataError, ModelError
from diffgan.images import FloatImages
from diffgan.labels.judging import Judged, Rule, judge_triggers
from tests.labels.triggers import images

MakeArchive = Callable[..., Archive]


@dataclass(frozen=True)
class Brightness:
    """The first pixel's brightness, less a bias, is the probability of class 1; it may know further classes."""

    name: str = "bright"
    bias: float = 0.0
    classes: int = 2

    def predict(self, images: FloatImages) -> NDArray[np.float32]:
        bright = np.clip(images[:, 0, 0, 0] - np.float32(self.bias), 0, 1)
        answer = np.zeros((len(images), self.classes), dtype=np.float32)
        answer[:, 0], answer[:, -1] = 1 - bright, bright
        return answer


@dataclass
class Breaking:
    """A model that fails after so many images."""

    left: int
    name: str = "bright"

    def predict(self, images: FloatImages) -> NDArray[np.float32]:
        self.left -= len(images)
        if self.left < 0:
            raise ModelError("bright is gone.")
        return Brightness().predict(images)


def real(pixels: tuple[int, ...] = (0, 51, 102, 153, 255), classes: tuple[str, ...] = ("dark", "bright")) -> Dataset:
    return Dataset.checked("real", images(*pixels, second=255), np.zeros(len(pixels), dtype=np.int64), classes=classes)


BRIGHT, DIM = Brightness(), Brightness("dim", 0.2)
# On the real images, `bright` is sure of 1 0.8 0.6 0.6 1: its 5 % quantile, at place 0.2 of the sorted, is 0.6.
# `dim` is sure of 1 1 0.8 0.6 0.8: 0.6 + 0.2 · 0.2 = 0.64. The mean of the two is 1 0.9 0.7 0.5 0.9: 0.54.
# The triggers: `bright` is sure of 1, 0.549, 0.588 and 1, `dim` of 1, 0.651, 0.612 and 0.8; the mean, of 1, 0.551,
# 0.512 (both to class 0: 0.412 and 0.612) and 0.9.
PIXELS = (0, 140, 150, 255)


def test_golden_labels_of_one_judge(make_archive: MakeArchive) -> None:
    archive = make_archive(PIXELS)
    said = judge_triggers(archive, [BRIGHT], real())
    assert said.thresholds == pytest.approx((0.6,))
    assert (said.annotator, said.triggers, said.valid, said.invalid, said.conflicts) == ("judge:bright", 4, 2, 2, 0)
    labels = archive.labels.read("judge:bright")
    assert labels.ids.tolist() == archive.column("ids").tolist()
    assert labels.classes == (0, None, None, 1)


def test_golden_labels_of_the_mean(make_archive: MakeArchive) -> None:
    archive = make_archive(PIXELS)
    said = judge_triggers(archive, [DIM, BRIGHT], real())
    assert said.annotator == "judge:bright+dim"
    assert said.thresholds == pytest.approx((0.54,))
    assert archive.labels.read(said.annotator).classes == (0, 0, None, 1)


def test_golden_labels_of_the_majority(make_archive: MakeArchive) -> None:
    archive = make_archive(PIXELS)
    said = judge_triggers(archive, [BRIGHT, DIM], real(), rule=Rule.MAJORITY)
    assert said.annotator == "judge:bright+dim (majority)"
    assert said.thresholds == pytest.approx((0.6, 0.64))
    assert (said.valid, said.invalid, said.conflicts) == (2, 1, 1)
    labels = archive.labels.read(said.annotator)
    assert labels.classes == (0, None, 1)
    assert labels.ids.tolist() == archive.column("ids")[[0, 2, 3]].tolist()


def test_of_three_two_are_enough(make_archive: MakeArchive) -> None:
    archive = make_archive(PIXELS)
    third = Brightness("third", 0.2)
    said = judge_triggers(archive, [BRIGHT, DIM, third], real(), rule=Rule.MAJORITY)
    assert archive.labels.read(said.annotator).classes == (0, 0, None, 1)


def test_the_same_judges_labels_are_replaced_and_others_stay(make_archive: MakeArchive) -> None:
    archive = make_archive(PIXELS)
    ids = archive.column("ids")
    archive.labels.write("ann", ids[:1], [1])
    archive.labels.write("judge:bright+dim (majority)", ids, [1, 1, 1, 1])
    judge_triggers(archive, [BRIGHT, DIM], real(), rule=Rule.MAJORITY)
    assert archive.labels.counts() == {"ann": 1, "judge:bright+dim (majority)": 3}


def test_a_fault_midway_leaves_the_former_labels(make_archive: MakeArchive) -> None:
    archive = make_archive(PIXELS)
    archive.labels.write("judge:bright", archive.column("ids"), [1, 1, 1, 1])
    with pytest.raises(ModelError, match="gone"):
        judge_triggers(archive, [Breaking(left=7)], real())
    assert archive.labels.read().classes == (1, 1, 1, 1)


def test_a_class_that_the_data_lacks_is_invalid(make_archive: MakeArchive) -> None:
    archive = make_archive(PIXELS)
    judge_triggers(archive, [Brightness(classes=5)], real())
    assert archive.labels.read().classes == (0, None, None, None)


def test_an_empty_archive(make_archive: MakeArchive) -> None:
    archive = make_archive([])
    said = judge_triggers(archive, [BRIGHT], real())
    assert (said.triggers, said.valid, said.invalid, said.conflicts) == (0, 0, 0, 0)


def test_many_pages_and_progress(make_archive: MakeArchive) -> None:
    archive = make_archive([pixel % 256 for pixel in range(256)])
    seen: list[tuple[int, int]] = []
    said = judge_triggers(archive, [BRIGHT, DIM], real(), progress=lambda done, whole: seen.append((done, whole)))
    assert seen[-1] == (2 * (5 + 256), 2 * (5 + 256))
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert isinstance(said, Judged)
    assert said.valid + said.invalid == 256


def test_the_distances_between_real_images_are_not_looked_for(
    make_archive: MakeArchive, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Labels need none of them, and on large data they take longer than the judges do.
    monkeypatch.setattr("diffgan.features.judge.median_nearest_distance", None)
    assert judge_triggers(make_archive(PIXELS), [BRIGHT], real()).triggers == 4


def test_other_data_is_refused(make_archive: MakeArchive) -> None:
    archive = make_archive(PIXELS)
    with pytest.raises(DataError, match="are not the run's"):
        judge_triggers(archive, [BRIGHT], real(classes=("bright", "dark")))
    wide = Dataset.checked("wide", np.zeros((3, 2, 2, 1), dtype=np.uint8), np.zeros(3, dtype=np.int64))
    with pytest.raises(DataError, match="1×2×2"):
        judge_triggers(archive, [BRIGHT], wide)
