"""What most annotators say, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from diffgan.archive import LabelColumns
from diffgan.labels import Consensus, Role, consensus, role_of
from diffgan.labels.consensus import labels_by


def columns(*votes: tuple[int, str, int | None]) -> LabelColumns:
    return LabelColumns(
        ids=np.array([vote[0] for vote in votes], dtype=np.int64),
        annotators=tuple(vote[1] for vote in votes),
        classes=tuple(vote[2] for vote in votes),
        times=np.zeros(len(votes)),
    )


def of(*votes: tuple[int, str, int | None]) -> Consensus:
    return consensus(columns(*votes))


@pytest.mark.parametrize(
    ("votes", "label", "settled", "valid", "validity_settled"),
    [
        ([3], 3, True, True, True),
        ([None], None, True, False, True),
        ([3, 3, 5], 3, True, True, True),
        ([3, 5], None, False, True, True),  # both see a class, but not which
        ([3, None], None, False, False, False),
        ([3, 5, None], None, False, True, True),
        ([3, 3, 5, None], None, False, True, True),  # two of four are no majority
        ([3, 3, None, None], None, False, False, False),
        ([None, None, 3], None, True, False, True),
        ([0, 0, None], 0, True, True, True),  # class 0 is a class
        ([1, 2, 3], None, False, True, True),
        ([1, 1, 2, 3, 4], None, False, True, True),  # the most, yet no majority
    ],
)
def test_more_than_half(
    votes: list[int | None], label: int | None, settled: bool, valid: bool, validity_settled: bool
) -> None:
    found = of(*((7, f"annotator {place}", vote) for place, vote in enumerate(votes)))
    assert found.ids.tolist() == [7]
    assert found.classes == (label,)
    assert (bool(found.settled[0]), bool(found.valid[0])) == (settled, valid)
    assert bool(found.validity_settled[0]) == validity_settled
    assert found.conflicts == (not settled)
    ids, validity = found.validity()
    assert (ids.tolist(), validity.tolist()) == (([7], [valid]) if validity_settled else ([], []))


def test_people_come_before_judges() -> None:
    found = of((1, "ann", 3), (1, "judge:m1", 5), (1, "judge:m2", 5), (2, "judge:m1", 5), (3, "ann", 1), (3, "bo", 2))
    assert found.ids.tolist() == [1, 2, 3]
    assert found.classes == (3, 5, None)
    assert found.settled.tolist() == [True, True, False]
    assert found.by_machine.tolist() == [False, True, False]


def test_judges_that_conflict_settle_nothing_and_are_told() -> None:
    # One ensemble may label by its mean and by its majority: then it speaks twice.
    mean, majority = "judge:m1+m2", "judge:m1+m2 (majority)"
    found = of((1, mean, 3), (1, majority, 5), (2, mean, 3), (2, majority, 3), (3, mean, None), (3, majority, 4))
    assert found.classes == (None, 3, None)
    assert found.settled.tolist() == [False, True, False]
    assert found.validity_settled.tolist() == [True, True, False]
    assert found.conflicts == 2
    assert found.by_machine.all()


def test_no_number_of_judges_outvotes_a_person() -> None:
    found = of((1, "ann", 3), *((1, f"judge:m{number}", 5) for number in range(9)))
    assert (found.classes, found.voices.tolist(), found.unanimous.tolist()) == ((3,), [1], [True])


def test_judges_do_not_end_a_conflict_of_people() -> None:
    found = of((1, "ann", 3), (1, "bo", 5), (1, "judge:m1", 5))
    assert (found.conflicts, found.voices.tolist()) == (1, [2])


@pytest.mark.parametrize("decider", ["decided", "decided:cy"])
def test_a_decision_wins_over_all_others(decider: str) -> None:
    found = of((1, "ann", 3), (1, "bo", 3), (1, decider, None), (1, "judge:m1", 3), (2, "ann", 4))
    assert found.classes == (None, 4)
    assert found.settled.all()
    assert found.valid.tolist() == [False, True]
    assert found.by_decision.tolist() == [True, False]


def test_deciders_may_conflict_in_their_turn() -> None:
    found = of((1, "decided:ann", 3), (1, "decided:bo", 4), (1, "cy", 3))
    assert found.conflicts == 1


def test_the_kinds_of_annotators_are_told_by_their_names() -> None:
    names = ("judge:m1", "decided", "decided:ann", "decidedly", "Decided", "ann", "")
    roles = [Role.JUDGE, Role.DECIDER, Role.DECIDER, Role.PERSON, Role.PERSON, Role.PERSON, Role.PERSON]
    assert [role_of(name) for name in names] == roles
    chosen = labels_by(Role.JUDGE, columns((1, "ann", 3), (1, "judge:m1", 4), (2, "judge:m1", None)))
    assert (chosen.ids.tolist(), chosen.annotators, chosen.classes) == ([1, 2], ("judge:m1",) * 2, (4, None))
    assert len(labels_by(Role.DECIDER, chosen)) == 0


def test_how_many_labels_count_and_whether_they_are_the_same() -> None:
    found = of((1, "ann", 3), (1, "bo", 3), (2, "ann", 3), (2, "bo", 4), (3, "ann", None), (3, "bo", 4), (3, "cy", 4))
    assert found.voices.tolist() == [2, 2, 3]
    assert found.unanimous.tolist() == [True, False, False]
    assert found.validity_unanimous.tolist() == [True, True, False]


def test_no_labels_at_all() -> None:
    found = of()
    assert len(found) == 0
    assert found.conflicts == 0
    assert [len(part) for part in found.validity()] == [0, 0]
