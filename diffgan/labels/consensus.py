"""Whose labels of a trigger count, and what most of those say.

A trigger's labels come from three kinds of annotators, and only the first kind that is there counts:

1. whoever decides: `decided`, or `decided:` and a name;
2. people: any other name;
3. judges, which are models: `judge:` and their names.

So no number of judges outvotes a person, and one decision ends a conflict. Of those that count, more than half have to
say the same; otherwise they conflict, be they people, judges or deciders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import LabelColumns

MACHINE = "judge:"
"""How the names of machine annotators begin."""

DECIDED = "decided"
"""The annotator whose labels end conflicts; `decided:ann` says who decided."""

Vote = TypeVar("Vote", bound=Hashable)


class Role(IntEnum):
    """The kinds of annotators; the lower one counts."""

    DECIDER = 0
    PERSON = 1
    JUDGE = 2


@dataclass(frozen=True, kw_only=True, eq=False)
class Consensus:
    """The labelled triggers, in order of discovery, and what most of the annotators that count say.

    Attributes:
        ids: of the triggers.
        classes: what most say; None for an image that shows no class, and where they conflict.
        settled: whether most give the same label.
        valid: whether most see some class, be it the same or not.
        validity_settled: whether most agree that there is a class, or that there is none.
        by_machine: whether judges alone have labelled it.
        by_decision: whether somebody has decided it.
        voices: how many labels count.
        unanimous: whether all of those are the same.
        validity_unanimous: whether all of those see some class, or none does.
    """

    ids: NDArray[np.int64]
    classes: tuple[int | None, ...]
    settled: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    validity_settled: NDArray[np.bool_]
    by_machine: NDArray[np.bool_]
    by_decision: NDArray[np.bool_]
    voices: NDArray[np.int64]
    unanimous: NDArray[np.bool_]
    validity_unanimous: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def conflicts(self) -> int:
        """On how many triggers no label has most voices."""
        return int((~self.settled).sum())

    def validity(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The triggers of which it is settled whether they are valid, and whether they are."""
        return self.ids[self.validity_settled], self.valid[self.validity_settled]


def role_of(annotator: str) -> Role:
    """What kind of annotator labels under this name.

    Example:
        >>> [role_of(name).name for name in ("judge:m1+m2", "ann", "decided", "decided:ann")]
        ['JUDGE', 'PERSON', 'DECIDER', 'DECIDER']
    """
    if is_machine(annotator):
        return Role.JUDGE
    return Role.DECIDER if annotator == DECIDED or annotator.startswith(f"{DECIDED}:") else Role.PERSON


def is_machine(annotator: str) -> bool:
    """Whether a judge labels under this name, rather than a person.

    Example:
        >>> is_machine("judge:m1+m2"), is_machine("ann")
        (True, False)
    """
    return annotator.startswith(MACHINE)


def labels_by(role: Role, labels: LabelColumns) -> LabelColumns:
    """Only the labels of this kind of annotators."""
    return labels.without(annotator for annotator in set(labels.annotators) if role_of(annotator) is not role)


def consensus(labels: LabelColumns) -> Consensus:
    """What most annotators say of each trigger that is labelled at all.

    Example:
        >>> three = LabelColumns(
        ...     ids=np.array([7, 7, 7]), annotators=("ann", "bo", "cy"), classes=(3, 5, 3), times=np.zeros(3)
        ... )
        >>> consensus(three).classes
        (3,)
    """
    votes: dict[int, dict[Role, list[int | None]]] = {}
    for number, annotator, label in zip(labels.ids.tolist(), labels.annotators, labels.classes, strict=True):
        votes.setdefault(number, {}).setdefault(role_of(annotator), []).append(label)
    roles = [min(by_role) for by_role in votes.values()]
    voices = [by_role[role] for by_role, role in zip(votes.values(), roles, strict=True)]
    sights = [[label is not None for label in voice] for voice in voices]
    said, seen = [_most(voice) for voice in voices], [_most(sight) for sight in sights]
    return Consensus(
        ids=np.array(list(votes), dtype=np.int64),
        classes=tuple(winner[0] if winner else None for winner in said),
        settled=_flags(bool(winner) for winner in said),
        valid=_flags(winner == [True] for winner in seen),
        validity_settled=_flags(bool(winner) for winner in seen),
        by_machine=_flags(role is Role.JUDGE for role in roles),
        by_decision=_flags(role is Role.DECIDER for role in roles),
        voices=np.array([len(voice) for voice in voices], dtype=np.int64),
        unanimous=_flags(len(set(voice)) == 1 for voice in voices),
        validity_unanimous=_flags(len(set(sight)) == 1 for sight in sights),
    )


def _most(votes: Sequence[Vote]) -> list[Vote]:
    """What more than half of the votes are for, alone in a list; an empty list where they conflict."""
    winner, count = Counter(votes).most_common(1)[0]
    return [winner] if 2 * count > len(votes) else []


def _flags(values: Iterable[bool]) -> NDArray[np.bool_]:
    return np.array(list(values), dtype=np.bool_)
