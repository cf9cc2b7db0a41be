"""What both models answer: on the real images, which costs queries, and on triggers, where the archive knows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.datasets import Dataset
from diffgan.images import ByteImages, to_floats
from diffgan.models.classifier import Classifier
from diffgan.models.evaluation import check_labels_known
from diffgan.selection.kinds import ids_and_kinds, in_turn
from diffgan.selection.pairs import PairFacts, Sources, close_opened, open_pair

Float32s = NDArray[np.float32]
Report = Callable[[int, int], None]

#: Triggers from which mimic learns what the models answer.
MOST_UNLABELLED = 5_000
_BLOCK = 1000


@dataclass(frozen=True, eq=False)
class Answers:
    """Images with what both models answered.

    Attributes:
        images: uint8, N x H x W x C.
        a: A's probabilities, N x K.
        b: B's.
    """

    images: ByteImages
    a: Float32s
    b: Float32s

    def __len__(self) -> int:
        return len(self.images)


def ask_pair(
    pair: PairFacts, data: Dataset, *, given: Sources = (None, None), report: Report = lambda *_: None
) -> tuple[Answers, dict[str, int]]:
    """Both models on all of some data, and how many queries that took.

    Raises:
        ModelError: a model cannot be opened, is another one, or is for other classes.
    """
    models = open_pair(pair, data.spec, given=given)
    before = [model.queries for model in models]
    try:
        for model in models:
            check_labels_known(model, data.classes, data.name)
        a, b = (_answers(model, data, place * len(data), report) for place, model in enumerate(models))
        queries = {place: model.queries - asked for place, model, asked in zip("ab", models, before, strict=True)}
    finally:
        close_opened(models, given)
    return Answers(data.images, a, b), queries


def unlabelled(runs: Sequence[Path], without: NDArray[np.int64], *, seed: int) -> Answers:
    """Triggers with what both models answered when they were found: a seeded sample, in turn of every kind.

    Args:
        runs: their folders.
        without: ids of those that shall not be among them.
        seed: of the sample.
    """
    rng = np.random.default_rng((seed, 4))
    parts = []
    for run in runs:
        with Archive.open(run / "archive.db", read_only=True) as archive:
            ids, kinds = ids_and_kinds(archive)
            left = np.flatnonzero(~np.isin(ids, without))
            chosen = np.sort(ids[left[in_turn(kinds[left], MOST_UNLABELLED // len(runs), rng)]])
            for start in range(0, len(chosen), _BLOCK):
                found = archive.find(chosen[start : start + _BLOCK])
                parts.append((found.images, found.outputs_a, found.outputs_b))
            if not len(chosen) and archive.count():  # of the right shapes, should there be no others
                found = archive.find(chosen)
                parts.append((found.images, found.outputs_a, found.outputs_b))
    images, a, b = (np.concatenate(column) for column in zip(*parts, strict=True))
    return Answers(images, a, b)


def _answers(model: Classifier, data: Dataset, before: int, report: Report) -> Float32s:
    answers = np.empty((len(data), model.class_count), dtype=np.float32)
    for start in range(0, len(data), _BLOCK):
        part = data.images[start : start + _BLOCK]
        answers[start : start + len(part)] = model.predict(to_floats(part))
        report(before + start + len(part), 2 * len(data))
    return answers
