"""Machine labels: what judges say of an archive's triggers, under their own names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.datasets import Dataset
from diffgan.errors import DataError
from diffgan.features.ensemble import JudgeModel
from diffgan.features.judge import Judge
from diffgan.images import ByteImages, FloatImages
from diffgan.labels.consensus import MACHINE

Votes = NDArray[np.int64]
Progress = Callable[[int, int], None]

_INVALID, _CONFLICT = -1, -2


class Rule(StrEnum):
    """How several judges come to one label."""

    MEAN = "mean"
    MAJORITY = "majority"


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What judges have said of an archive.

    Attributes:
        annotator: the name that the labels carry.
        thresholds: the confidence that a valid image exceeds, of the mean or of each judge.
        triggers: how many were judged.
        valid: how many of them show a class.
        invalid: how many show none.
        conflicts: how many no label was given, because no label had most votes.
        replaced: how many labels under this name gave way.
    """

    annotator: str
    thresholds: tuple[float, ...]
    triggers: int
    valid: int
    invalid: int
    conflicts: int
    replaced: int


def annotator_name(names: Sequence[str], rule: Rule) -> str:
    """The name that the labels of these judges carry, whatever their order.

    Example:
        >>> annotator_name(["m2", "m1"], Rule.MEAN), annotator_name(["m2", "m1"], Rule.MAJORITY)
        ('judge:m1+m2', 'judge:m1+m2 (majority)')
    """
    joined = MACHINE + "+".join(sorted(names))
    return joined if rule is Rule.MEAN or len(names) == 1 else f"{joined} ({rule})"


def judge_triggers(
    archive: Archive,
    models: Sequence[JudgeModel],
    data: Dataset,
    *,
    rule: Rule = Rule.MEAN,
    progress: Progress | None = None,
    calibrated: Judge | None = None,
) -> Judged:
    """Labels all triggers that are there now, and takes the former labels of the same judges back: all, or nothing.

    Under `mean`, the models are one judge: the class with the greatest mean probability, and invalid at or below the
    5 % quantile of that probability on the data. Under `majority`, each model votes so by itself, and a label needs
    more than half of the votes.

    Args:
        archive: open for writing.
        models: of the data's classes, or more (a class that the data does not have counts as invalid).
        data: what the models under test are for; no judge should have been trained on it.
        rule: how the models come to one label.
        progress: called with the images answered and those to answer, of all models together.
        calibrated: under `mean`, these models as a judge on this data, where they have been asked already.

    Raises:
        DataError: the data does not fit the archive.
        ModelError: a model answers wrongly, or is as sure of every image.
        ArchiveError: the archive cannot be read or written.
    """
    check_data(archive, data)
    count = archive.count()
    asked = _reporting(models, len(models) * (count + (len(data) if calibrated is None else 0)), progress)
    judges = (
        [Judge.calibrate(group, data.images, distances=False) for group in _groups(asked, rule)]
        if calibrated is None
        else [replace(calibrated, models=tuple(asked))]
    )
    pages = [
        np.stack([page["ids"], _label(judges, page["images"], len(data.classes))])
        for page in archive.stream("ids", "images")
    ]
    ids, labels = np.concatenate([np.empty((2, 0), dtype=np.int64), *pages], axis=1)
    said = labels != _CONFLICT
    classes = [None if label == _INVALID else label for label in labels[said].tolist()]
    name = annotator_name([model.name for model in models], rule)
    replaced = archive.labels.counts().get(name, 0)
    archive.labels.write_all({name: dict(zip(ids[said].tolist(), classes, strict=True))}, alone=True)
    return Judged(
        annotator=name,
        thresholds=tuple(judge.threshold for judge in judges),
        triggers=len(ids),
        valid=int((labels >= 0).sum()),
        invalid=int((labels == _INVALID).sum()),
        conflicts=int((~said).sum()),
        replaced=replaced,
    )


def check_data(archive: Archive, data: Dataset) -> None:
    """Refuses data whose images or classes are not those of the triggers.

    Raises:
        DataError: they are not.
    """
    if data.spec != archive.image_spec:
        raise DataError(
            f"{data.name} has images of {data.spec}, but the triggers are {archive.image_spec}: give the run's data."
        )
    if archive.class_names is not None and archive.class_names != data.classes:
        raise DataError(
            f"The classes of {data.name} ({', '.join(data.classes[:5])}, …) are not the run's "
            f"({', '.join(archive.class_names[:5])}, …): give the data that the run was on."
        )


def _groups(models: Sequence[JudgeModel], rule: Rule) -> list[list[JudgeModel]]:
    return [list(models)] if rule is Rule.MEAN else [[model] for model in models]


def _label(judges: Sequence[Judge], images: ByteImages, classes: int) -> Votes:
    """The label of each image that has more than half of the judges' votes."""
    votes = np.stack([_vote(judge, images, classes) for judge in judges])
    labels = np.full(len(images), _CONFLICT, dtype=np.int64)
    for vote in votes:
        has_most = 2 * (votes == vote).sum(axis=0) > len(judges)
        labels[has_most] = vote[has_most]
    return labels


def _vote(judge: Judge, images: ByteImages, classes: int) -> Votes:
    said = judge.verdicts(images)
    return np.where(said.valid & (said.label < classes), said.label, _INVALID)


@dataclass(frozen=True)
class _Reporting:
    """A model that tells how many images it has answered."""

    model: JudgeModel
    report: Callable[[int], None]

    @property
    def name(self) -> str:
        return self.model.name

    def predict(self, images: FloatImages) -> NDArray[np.float32]:
        answer = self.model.predict(images)
        self.report(len(images))
        return answer


def _reporting(models: Sequence[JudgeModel], total: int, progress: Progress | None) -> Sequence[JudgeModel]:
    if progress is None:
        return models
    done = 0

    def report(count: int) -> None:
        nonlocal done
        done += count
        progress(min(done, total), total)

    return [_Reporting(model, report) for model in models]
