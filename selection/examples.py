"""What a selector learns from: labelled triggers on which exactly one of the two models is right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from diffgan.archive import Archive
from diffgan.errors import DataError, UsageError
from diffgan.images import ByteImages, ImageSpec
from diffgan.labels import consensus
from diffgan.selection.kinds import ids_and_kinds, in_turn

Mask = NDArray[np.bool_]
_BLOCK = 2048


class Counts(BaseModel):
    """What became of the labelled triggers.

    Attributes:
        labelled: those with any label.
        by_machine: those of them that judges alone have labelled.
        conflicts: left out: no label has more than half of the voices.
        invalid: left out: they show no class.
        not_drawn: left out: there were more valid ones than asked for.
        both_wrong: left out: neither model gives the label.
        only_a: A alone is right.
        only_b: B alone is right.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    labelled: int
    by_machine: int
    conflicts: int
    invalid: int
    not_drawn: int
    both_wrong: int
    only_a: int
    only_b: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """N labelled triggers on which exactly one model is right.

    Attributes:
        ids: of the triggers.
        images: uint8, N x H x W x C.
        b_is_right: B; elsewhere, it is A.
        mean_is_right: whether the mean of both models' probabilities is.
        counts: what became of the others.
    """

    ids: NDArray[np.int64]
    images: ByteImages
    b_is_right: Mask
    mean_is_right: Mask
    counts: Counts

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def spec(self) -> ImageSpec:
        """The size of the images."""
        return ImageSpec.of_bytes(self.images)

    def part(self, rows: NDArray[np.int64]) -> Examples:
        """Some of them; the counts stay those of all."""
        return Examples(
            ids=self.ids[rows],
            images=self.images[rows],
            b_is_right=self.b_is_right[rows],
            mean_is_right=self.mean_is_right[rows],
            counts=self.counts,
        )


class _Voice(NamedTuple):
    """What most say of a trigger, and in which run it is."""

    run: int
    label: int | None
    by_machine: bool


def read_examples(runs: Sequence[Path], *, limit: int | None = None, seed: int = 0) -> Examples:
    """The examples in some runs of one pair; a search may still be writing to them.

    A trigger that conflicting labels were given is left out, and so is one that two runs hold under different labels.

    Args:
        runs: their folders.
        limit: of all valid triggers, at most so many count: in turn of every kind (labels of A and B), by the seed.
        seed: of the draw.

    Raises:
        DataError: the runs differ in images or classes.
        UsageError: nothing is labelled, or the outputs are no classes.
        ArchiveError: an archive cannot be read.
    """
    archives = [Archive.open(run / "archive.db", read_only=True) for run in runs]
    try:
        _check_alike(runs, archives)
        voices, counts = _voices(runs, archives)
        drawn, left = _draw(sorted(voices), archives, limit, seed)
        parts = [
            _of_run(archive, [(number, voices[number].label) for number in drawn if voices[number].run == place])
            for place, archive in enumerate(archives)
        ]
    finally:
        for archive in archives:
            archive.close()
    ids, images, right, mean = (np.concatenate(column) for column in zip(*parts, strict=True))
    one = right[:, 0] != right[:, 1]
    counts |= {
        "not_drawn": left,
        "both_wrong": int((~right.any(axis=1)).sum()),
        "only_a": int(right[one, 0].sum()),
        "only_b": int(right[one, 1].sum()),
    }
    return Examples(
        ids=ids[one],
        images=np.ascontiguousarray(images[one]),
        b_is_right=right[one, 1],
        mean_is_right=mean[one],
        counts=Counts(**counts),
    )


def check_enough(examples: Examples, *, fewest: int, names: tuple[str, str]) -> None:
    """Refuses what no selector can be made from.

    Args:
        examples: see there.
        fewest: how many each model has to be right on.
        names: of A and B.

    Raises:
        UsageError: only one model is ever right, or one too seldom.
    """
    counts = examples.counts
    hint = ""
    if 2 * counts.invalid > counts.labelled:
        hint = " Most show nothing: `diffgan filter` finds those that do."
    said = f"{names[0]} alone is right on {counts.only_a}, {names[1]} alone on {counts.only_b}"
    if not len(examples):
        raise UsageError(
            f"Of {counts.labelled} labelled triggers there is none on which exactly one model is right "
            f"({counts.invalid} invalid, {counts.both_wrong} both wrong, {counts.conflicts} conflicts): label "
            f"more.{hint}"
        )
    if not counts.only_a or not counts.only_b:
        right, other = names if counts.only_a else names[::-1]
        raise UsageError(
            f"{right} is right on all {len(examples)} labelled triggers on which exactly one model is, and {other} on "
            f"none: there is nothing to choose. Label more, at least {fewest} on which {other} is right.{hint}"
        )
    if min(counts.only_a, counts.only_b) < fewest:
        needed = _needed(counts, fewest)
        raise UsageError(
            f"Of {counts.labelled} labelled triggers, {said}; at least {fewest} of each are needed: label about "
            f"{needed} more.{hint}"
        )


def _needed(counts: Counts, fewest: int) -> int:
    """How many more labels, if the next ones are as the first."""
    rare = min(counts.only_a, counts.only_b)
    return max(fewest - rare, round((fewest - rare) * counts.labelled / rare))


def _check_alike(runs: Sequence[Path], archives: Sequence[Archive]) -> None:
    first = archives[0]
    for run, archive in zip(runs, archives, strict=True):
        if (archive.image_spec, archive.class_names) != (first.image_spec, first.class_names):
            raise DataError(
                f"{run} and {runs[0]} differ in the size of their images or in their classes: give runs on one data."
            )
        shape = archive.layout.outputs_a
        if archive.count() and (shape is None or len(shape) != 1 or not archive.has("label_a")):
            raise UsageError(
                f"The outputs in {run} are no classes (regression or segmentation): a selector chooses between "
                "classifiers; give a run of those."
            )


def check_spec(expected: ImageSpec, given: ImageSpec, what: str) -> None:
    """Refuses images of another size.

    Raises:
        DataError: they are.
    """
    if given != expected:
        raise DataError(f"{what} has images of {given}; expected {expected}.")


def _voices(runs: Sequence[Path], archives: Sequence[Archive]) -> tuple[dict[int, _Voice], dict[str, int]]:
    """What most say of each valid trigger, and how many others there are."""
    voices: dict[int, _Voice] = {}
    conflicting: set[int] = set()
    for place, archive in enumerate(archives):
        said = consensus(archive.labels.read())
        columns = zip(said.ids.tolist(), said.classes, said.settled, said.by_machine, strict=True)
        for number, label, settled, by_machine in columns:
            former = voices.setdefault(number, _Voice(place, label, bool(by_machine)))
            if not settled or former.label != label:
                conflicting.add(number)
    if not voices:
        raise UsageError(
            f"Nothing in {', '.join(map(str, runs))} is labelled: label triggers with `diffgan label`, or with "
            "`diffgan labels import` or `judge`."
        )
    valid = {number: voice for number, voice in voices.items() if voice.label is not None and number not in conflicting}
    counts = {
        "labelled": len(voices),
        "by_machine": sum(voice.by_machine for voice in voices.values()),
        "conflicts": len(conflicting),
        "invalid": len(voices) - len(conflicting) - len(valid),
    }
    return valid, counts


def _draw(numbers: list[int], archives: Sequence[Archive], limit: int | None, seed: int) -> tuple[list[int], int]:
    """At most so many, in turn of every kind, and how many are left; the same whatever the order of the runs."""
    if limit is None or len(numbers) <= limit:
        return numbers, 0
    kind_of: dict[int, int] = {}
    for archive in archives:
        ids, kinds = ids_and_kinds(archive)
        kind_of.update(zip(ids.tolist(), kinds.tolist(), strict=True))
    kinds = np.array([kind_of[number] for number in numbers])
    chosen = in_turn(kinds, limit, np.random.default_rng((seed, 2)))
    return [numbers[place] for place in chosen], len(numbers) - limit


def _of_run(archive: Archive, wanted: list[tuple[int, int | None]]) -> tuple[NDArray[np.int64], ByteImages, Mask, Mask]:
    """Ids, images, whether A and B are right (N x 2), and whether the mean of their probabilities is."""
    ids = np.array([number for number, _ in wanted], dtype=np.int64)
    truth = np.array([label for _, label in wanted], dtype=np.int64)
    spec = archive.image_spec
    images = np.empty((len(ids), spec.height, spec.width, spec.channels), dtype=np.uint8)
    right, mean = np.zeros((len(ids), 2), dtype=np.bool_), np.zeros(len(ids), dtype=np.bool_)
    for start in range(0, len(ids), _BLOCK):
        rows = slice(start, start + _BLOCK)
        found = archive.find(ids[rows])
        images[rows] = found.images
        right[rows, 0], right[rows, 1] = found.label_a == truth[rows], found.label_b == truth[rows]
        mean[rows] = (found.outputs_a + found.outputs_b).argmax(axis=1) == truth[rows]
    return ids, images, right, mean
