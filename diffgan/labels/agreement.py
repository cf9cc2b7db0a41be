"""How far the annotators of an archive agree: people with people, judges with judges, and judges with people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive, LabelColumns
from diffgan.labels.consensus import Consensus, Role, consensus, labels_by
from diffgan.stats import Kappa, cohen_kappa, fleiss_kappa

PEOPLE = "people"
"""What stands in a pair for what most people say, or what was decided."""

_INVALID = -1

Codes = dict[int, int]
"""A class, or -1 for none, by the trigger's id."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """On how many triggers the annotators of one kind stand how.

    Attributes:
        alone: one of them has labelled it.
        unanimous: two or more have, and say the same.
        majority: more than half say the same, but not all.
        conflict: no label has more than half.
    """

    alone: int
    unanimous: int
    majority: int
    conflict: int


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """Kappa on the labels (`invalid` is one more class), and on whether there is a class at all."""

    label: Kappa
    validity: Kappa


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two annotators, on what both have labelled."""

    annotators: tuple[str, str]
    agreed: Agreed


@dataclass(frozen=True, kw_only=True)
class Several:
    """Fleiss' kappa on the triggers that just this many have labelled."""

    annotators: int
    agreed: Agreed


@dataclass(frozen=True, kw_only=True)
class Group:
    """The annotators of one kind.

    Attributes:
        annotators: how many triggers each has labelled.
        label: how they stand on the labels.
        validity: how they stand on whether there is a class at all.
        pairs: each two of them.
        several: by the number of labels that a trigger has, from two.
    """

    annotators: dict[str, int]
    label: Standing
    validity: Standing
    pairs: tuple[Pair, ...]
    several: tuple[Several, ...]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """How far the annotators of an archive agree.

    Attributes:
        triggers: how many there are.
        labelled: how many have a label.
        by_judges_alone: how many of these have none by a person.
        settled: of how many most of those that count say the same.
        conflicts: of how many they do not, so that somebody has to decide.
        decided: how many triggers each decider has labelled.
        people: among themselves, whatever was decided.
        judges: among themselves, whatever people say.
        judges_and_people: each judge with what most people say, or what was decided.
    """

    triggers: int
    labelled: int
    by_judges_alone: int
    settled: int
    conflicts: int
    decided: dict[str, int]
    people: Group
    judges: Group
    judges_and_people: tuple[Pair, ...]

    def as_json(self) -> dict[str, Any]:
        """As files hold it; what is undefined is null."""
        return asdict(self)


def agreement(archive: Archive, *, rng: np.random.Generator) -> Agreement:
    """How far the annotators of an archive agree.

    Args:
        archive: to read from.
        rng: for the intervals, by the bootstrap over triggers.

    Raises:
        ArchiveError: the file cannot be read.
    """
    with archive.snapshot():
        triggers, labels = archive.count(), archive.labels.read()
    said = consensus(labels)
    judges, by_people = labels_by(Role.JUDGE, labels), _settled_by_people(said)
    return Agreement(
        triggers=triggers,
        labelled=len(said),
        by_judges_alone=int(said.by_machine.sum()),
        settled=int(said.settled.sum()),
        conflicts=said.conflicts,
        decided=_counted(labels_by(Role.DECIDER, labels)),
        people=_group(labels_by(Role.PERSON, labels), rng),
        judges=_group(judges, rng),
        judges_and_people=tuple(
            Pair(annotators=(judge, PEOPLE), agreed=_of_two(codes, by_people, rng))
            for judge, codes in _by_annotator(judges).items()
            if by_people
        ),
    )


def _group(labels: LabelColumns, rng: np.random.Generator) -> Group:
    said, codes = consensus(labels), _by_annotator(labels)
    return Group(
        annotators=_counted(labels),
        label=_standing(said.voices, said.unanimous, said.settled),
        validity=_standing(said.voices, said.validity_unanimous, said.validity_settled),
        pairs=tuple(
            Pair(annotators=(one, other), agreed=_of_two(codes[one], codes[other], rng))
            for one, other in combinations(codes, 2)
        ),
        several=tuple(_several(labels, rng)),
    )


def _counted(labels: LabelColumns) -> dict[str, int]:
    return dict(sorted(Counter(labels.annotators).items()))


def _by_annotator(labels: LabelColumns) -> dict[str, Codes]:
    codes: dict[str, Codes] = {name: {} for name in sorted(set(labels.annotators))}
    for number, annotator, label in zip(labels.ids.tolist(), labels.annotators, labels.classes, strict=True):
        codes[annotator][number] = _INVALID if label is None else label
    return codes


def _settled_by_people(said: Consensus) -> Codes:
    chosen = np.flatnonzero(said.settled & ~said.by_machine).tolist()
    labels = [said.classes[place] for place in chosen]
    codes = [_INVALID if label is None else label for label in labels]
    return dict(zip(said.ids[chosen].tolist(), codes, strict=True))


def _standing(voices: NDArray[np.int64], unanimous: NDArray[np.bool_], settled: NDArray[np.bool_]) -> Standing:
    several = voices > 1
    return Standing(
        alone=int((~several).sum()),
        unanimous=int((several & unanimous).sum()),
        majority=int((several & settled & ~unanimous).sum()),
        conflict=int((several & ~settled).sum()),
    )


def _of_two(one: Codes, other: Codes, rng: np.random.Generator) -> Agreed:
    both = [number for number in one if number in other]
    first = np.array([one[number] for number in both], dtype=np.int64)
    second = np.array([other[number] for number in both], dtype=np.int64)
    return Agreed(
        label=cohen_kappa(first, second, rng=rng),
        validity=cohen_kappa(first != _INVALID, second != _INVALID, rng=rng),
    )


def _several(labels: LabelColumns, rng: np.random.Generator) -> Iterator[Several]:
    """Fleiss' kappa asks for as many ratings of each item: those with two, with three, and so on, stand apart."""
    ratings: dict[int, list[int]] = {}
    for number, label in zip(labels.ids.tolist(), labels.classes, strict=True):
        ratings.setdefault(number, []).append(_INVALID if label is None else label)
    for many in sorted({len(codes) for codes in ratings.values()} - {1}):
        rows = [codes for codes in ratings.values() if len(codes) == many]
        seen = [[int(code != _INVALID) for code in codes] for codes in rows]
        agreed = Agreed(label=fleiss_kappa(_counts(rows), rng=rng), validity=fleiss_kappa(_counts(seen), rng=rng))
        yield Several(annotators=many, agreed=agreed)


def _counts(rows: Sequence[Sequence[int]]) -> NDArray[np.int64]:
    """How often each category stands in each row (N, K)."""
    categories, places = np.unique(np.array(rows, dtype=np.int64), return_inverse=True)
    counts = np.zeros((len(rows), len(categories)), dtype=np.int64)
    np.add.at(counts, (np.arange(len(rows))[:, None], places.reshape(len(rows), -1)), 1)
    return counts
