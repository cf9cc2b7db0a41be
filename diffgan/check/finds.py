"""What the search of a check has found: its labels, and a suite of it that stays small."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from diffgan.archive import Archive
from diffgan.check.outcomes import UNLABELLED, Answers, Integers, Outcome
from diffgan.check.suites import Suite, labels_in, write_suite
from diffgan.datasets import Dataset
from diffgan.errors import UsageError
from diffgan.features.judge import Judge
from diffgan.images import ByteImages, hex_id
from diffgan.labels.judging import judge_triggers
from diffgan.models.classifier import Classifier
from diffgan.models.evaluation import check_labels_known
from diffgan.models.loading import Source, load_classifier
from diffgan.stats import Packing, median_nearest_distance

#: The most triggers of a saved suite.
SUITE_MOST = 1000

#: Images that the distance of distinct ones is measured on; more would take long, and hardly move a median.
_MEASURED = 10_000

#: In this order, finds go into a suite until it is full.
_FIRST = (Outcome.REGRESSION, Outcome.BOTH_WRONG, Outcome.FIX, Outcome.UNLABELLED)


def open_judges(sources: Sequence[Source], data: Dataset, tested: Sequence[Classifier]) -> list[Classifier]:
    """The judges, none of them twice, and none a model under test.

    Raises:
        ModelError: one cannot be opened, or does not know the classes.
        UsageError: one is given twice, or is under test.
    """
    texts = [Path(source).name if isinstance(source, str | os.PathLike) else None for source in sources]
    judges: list[Classifier] = []
    for source, text in zip(sources, texts, strict=True):
        name = str(source) if text is not None and texts.count(text) > 1 else None
        judge = load_classifier(source, spec=data.spec, name=name, origin="--judge")
        check_labels_known(judge, data.classes, data.name)
        if any(other.fingerprint == judge.fingerprint for other in judges):
            raise UsageError(f"--judge {judge.source} is given twice: give each judge once.")
        if any(other.fingerprint == judge.fingerprint for other in tested):
            raise UsageError(f"--judge {judge.source} is under test, and would find itself right: give another model.")
        judges.append(judge)
    return judges


def label_finds(
    archive_path: Path, judge: Judge | None, data: Dataset, *, suites: Sequence[Suite] = ()
) -> tuple[Answers, frozenset[int]]:
    """What the search has found, labelled by the judge where there is one; and which ids judges alone have labelled.

    What people have said of an image in a suite holds here, too: judges never outvote them. What other judges have
    said in a former sitting does not count.

    Args:
        archive_path: of the run.
        judge: calibrated on the data.
        data: of the run.
        suites: that were replayed.

    Raises:
        ModelError: a judge failed.
        ArchiveError: the archive cannot be read or written.
    """
    with Archive.open(archive_path) as archive:
        judges = set()
        if judge is not None and archive.count():
            judges.add(judge_triggers(archive, judge.models, data, calibrated=judge).annotator)
        known, machine = labels_in(archive, judges=judges)
        said, by_judges = said_in(suites)
        by_people = {number: label for number, label in said.items() if number not in by_judges}
        overruled = {number: label for number, label in by_people.items() if number in machine or number not in known}
        known, machine = {**known, **overruled}, machine - overruled.keys()
        ids = archive.column("ids")
        labels = np.array([known.get(number, UNLABELLED) for number in ids.tolist()], dtype=np.int64)
        return Answers(ids, labels, archive.column("label_a"), archive.column("label_b")), machine


def examples_of(answers: Answers, outcome: Outcome, most: int, *, kept: frozenset[int] | None = None) -> Integers:
    """Rows with this outcome: in turn one of each kind (label of old, label of new), in order of discovery.

    Args:
        answers: all of them.
        outcome: the one that is looked for.
        most: how many rows.
        kept: where there are such, only rows with these ids.
    """
    rows = answers.rows(outcome)
    if kept is not None and outcome is Outcome.UNLABELLED:
        passed = np.array([number in kept for number in answers.ids[rows].tolist()], dtype=np.bool_)
        rows = rows[passed] if passed.any() else rows
    return rows[in_turn(answers, rows)][:most]


def in_turn(answers: Answers, rows: Integers) -> Integers:
    """An order of the rows in which every kind has its turn, instead of the most frequent one first."""
    seen: dict[tuple[int, int], int] = {}
    turns = np.empty(len(rows), dtype=np.int64)
    for place, cell in enumerate(zip(answers.old[rows].tolist(), answers.new[rows].tolist(), strict=True)):
        turns[place] = seen.get(cell, 0)
        seen[cell] = int(turns[place]) + 1
    return np.lexsort((np.arange(len(rows)), turns))


def distance_of_distinct(data: Dataset) -> float:
    """How far apart (cosine, on pixels) two images are that count as distinct: as the median real image is from its
    nearest neighbour."""
    if len(data) < 2:
        return 0.0
    step = -(-len(data) // _MEASURED)
    return median_nearest_distance(data.images[::step])


def save_finds(
    path: Path,
    data: Dataset,
    *,
    archive_path: Path,
    answers: Answers,
    machine: frozenset[int],
    kept: frozenset[int],
    suites: Sequence[Suite],
    most: int = SUITE_MOST,
) -> int:
    """Saves a suite: what is labelled in the suites that were replayed, then what is new and distinct.

    Of the finds, regressions come first, then what both have wrong, fixes, and what is unlabelled and was kept by the
    filters; each in turn by kind.

    Returns:
        How many triggers it has.

    Raises:
        UsageError: it cannot be written.
    """
    images, labels, by_judges = _replayed(suites, most, data)
    # What people have said of a find since goes before what a judge once said of it in a suite.
    said = zip(answers.ids.tolist(), answers.labels.tolist(), strict=True)
    known = labels.keys() & by_judges - machine
    by_people = {number: label for number, label in said if number in known and label != UNLABELLED}
    labels |= by_people
    machine = (by_judges - by_people.keys()) | (machine - labels.keys())
    packing = Packing([distance_of_distinct(data)])
    if len(images):
        packing.add([images])
    parts = [images]
    with Archive.open(archive_path, read_only=True) as archive:
        for outcome in _FIRST:
            for part in _chunks(_candidates(answers, outcome, kept, labels)):
                room = most - len(labels)
                if room <= 0:
                    break
                shown = archive.find(answers.ids[part]).images
                chosen = np.flatnonzero(packing.add([shown]))[:room]
                parts.append(shown[chosen])
                labels |= dict(
                    zip(answers.ids[part][chosen].tolist(), answers.labels[part][chosen].tolist(), strict=True)
                )
    write_suite(path, data, images=np.concatenate(parts), labels=labels, machine=machine)
    return len(labels)


def _candidates(answers: Answers, outcome: Outcome, kept: frozenset[int], taken: dict[int, int]) -> Integers:
    rows = answers.rows(outcome)
    rows = rows[in_turn(answers, rows)]
    ids = answers.ids[rows].tolist()
    return rows[
        np.array(
            [number not in taken and (outcome is not Outcome.UNLABELLED or number in kept) for number in ids],
            dtype=np.bool_,
        )
    ]


def _chunks(rows: Integers, size: int = 2000) -> list[Integers]:
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def said_in(suites: Sequence[Suite]) -> tuple[dict[int, int], frozenset[int]]:
    """The labels in the suites, and which of them are judges': people's go before judges', then later suites' before
    earlier ones'."""
    labels: dict[int, int] = {}
    machine: set[int] = set()
    for suite in suites:
        for number, label in suite.labels.items():
            by_judges = number in suite.machine
            if label == UNLABELLED or (by_judges and number in labels and number not in machine):
                continue
            labels[number] = label
            (machine.add if by_judges else machine.discard)(number)
    return labels, frozenset(machine)


def _replayed(suites: Sequence[Suite], most: int, data: Dataset) -> tuple[ByteImages, dict[int, int], frozenset[int]]:
    """What is labelled in the suites, each image once, the least ids where there are too many; and what judges said."""
    wanted, machine = said_in(suites)
    chosen = dict.fromkeys(sorted(wanted, key=hex_id)[:most])
    images: dict[int, ByteImages] = {}
    for suite in suites:
        for ids, page in suite.pages():
            images |= {number: page[row] for row, number in enumerate(ids.tolist()) if number in chosen}
    empty = np.empty((0, *data.images.shape[1:]), dtype=np.uint8)
    stacked = np.stack([images[number] for number in chosen]) if chosen else empty
    return stacked, {number: wanted[number] for number in chosen}, machine
