"""What most annotators of a trigger say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import LabelColumns

MACHINE = "judge:"
"""How the names of machine annotators begin."""

Vote = TypeVar("Vote", bound=Hashable)


@dataclass(frozen=True, kw_only=True, eq=False)
class Consensus:
    """The labelled triggers, in order of discovery, and what most of their annotators say.

    More than half of them have to say the same; otherwise, they conflict. Where people have labelled a trigger, they
    alone count; where none has, the judges do.

    Attributes:
        ids: of the triggers.
        classes: what most say; None for an image that shows no class, and where they conflict.
        settled: whether most give the same label.
        valid: whether most see some class, be it the same or not.
        validity_settled: whether most agree that there is a class, or that there is none.
        by_machine: whether judges alone have labelled it.
    """

    ids: NDArray[np.int64]
    classes: tuple[int | None, ...]
    settled: NDArray[np.bool_]
    valid: NDArray[np.bool_]
    validity_settled: NDArray[np.bool_]
    by_machine: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def conflicts(self) -> int:
        """On how many triggers no label has most voices."""
        return int((~self.settled).sum())

    def validity(self) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
        """The triggers of which it is settled whether they are valid, and whether they are."""
        return self.ids[self.validity_settled], self.valid[self.validity_settled]


def is_machine(annotator: str) -> bool:
    """Whether a judge labels under this name, rather than a person.

    Example:
        >>> is_machine("judge:m1+m2"), is_machine("ann")
        (True, False)
    """
    return annotator.startswith(MACHINE)


def consensus(labels: LabelColumns) -> Consensus:
    """What most annotators say of each trigger that is labelled at all.

    Example:
        >>> three = LabelColumns(
        ...     ids=np.array([7, 7, 7]), annotators=("ann", "bo", "cy"), classes=(3, 5, 3), times=np.zeros(3)
        ... )
        >>> consensus(three).classes
        (3,)
    """
    votes: dict[int, tuple[list[int | None], list[int | None]]] = {}
    for number, annotator, label in zip(labels.ids.tolist(), labels.annotators, labels.classes, strict=True):
        votes.setdefault(number, ([], []))[is_machine(annotator)].append(label)
    voices = [people or machines for people, machines in votes.values()]
    said = [_most(voice) for voice in voices]
    seen = [_most([label is not None for label in voice]) for voice in voices]
    return Consensus(
        ids=np.array(list(votes), dtype=np.int64),
        classes=tuple(winner[0] if winner else None for winner in said),
        settled=np.array([bool(winner) for winner in said], dtype=np.bool_),
        valid=np.array([winner == [True] for winner in seen], dtype=np.bool_),
        validity_settled=np.array([bool(winner) for winner in seen], dtype=np.bool_),
        by_machine=np.array([not people for people, _ in votes.values()], dtype=np.bool_),
    )


def _most(votes: Sequence[Vote]) -> list[Vote]:
    """What more than half of the votes are for, alone in a list; an empty list where they conflict."""
    winner, count = Counter(votes).most_common(1)[0]
    return [winner] if 2 * count > len(votes) else []
