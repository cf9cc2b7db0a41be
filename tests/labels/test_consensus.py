"""What most annotators say, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from diffgan.archive import LabelColumns
from diffgan.labels import Consensus, consensus


def of(*votes: tuple[int, str, int | None]) -> Consensus:
    return consensus(
        LabelColumns(
            ids=np.array([vote[0] for vote in votes], dtype=np.int64),
            annotators=tuple(vote[1] for vote in votes),
            classes=tuple(vote[2] for vote in votes),
            times=np.zeros(len(votes)),
        )
    )


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


def test_no_labels_at_all() -> None:
    found = of()
    assert len(found) == 0
    assert found.conflicts == 0
    assert [len(part) for part in found.validity()] == [0, 0]
