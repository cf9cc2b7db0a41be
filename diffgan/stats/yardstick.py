"""DV, the number of distinct valid triggers, and the figures that stand beside it.

*Valid* is the judge's verdict; *distinct* is the greedy packing of the valid triggers in order of discovery. A copy
of an earlier image is a trigger, but not a unique one, and everything from `unique` on is counted without copies.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgan.errors import DataError
from diffgan.stats.checks import check_count, check_numbers, check_sample
from diffgan.stats.packing import Space, greedy_packing


@dataclass(frozen=True)
class Yardstick:
    """What a list of triggers is worth.

    Attributes:
        triggers: all of them, copies included.
        unique: different images.
        valid: those of the unique that the judge finds recognisable.
        share_valid: valid / unique; None where there is no trigger.
        dv: those of the valid that are distinct.
        cells: different pairs (label of A, label of B) among the valid.
        largest_cell_share: the share of the DV in the pair that has most of them; None where DV is 0.
        exactly_one_right: those of the DV on which just one of A and B gives the judge's label.
    """

    triggers: int
    unique: int
    valid: int
    share_valid: float | None
    dv: int
    cells: int
    largest_cell_share: float | None
    exactly_one_right: int


@dataclass(frozen=True, eq=False)
class JudgedTriggers:
    """Triggers in order of discovery, with the judge's verdicts: five arrays of one length.

    Attributes:
        ids: equal for equal images (`diffgan.images.image_ids`).
        valid: whether the judge finds the image recognisable.
        judged: the judge's label.
        label_a: the label of A.
        label_b: the label of B.
    """

    ids: NDArray[np.int64]
    valid: NDArray[np.bool_]
    judged: NDArray[np.int64]
    label_a: NDArray[np.int64]
    label_b: NDArray[np.int64]

    def __post_init__(self) -> None:
        shapes = {name: np.shape(value) for name, value in vars(self).items()}
        if len(set(shapes.values())) > 1 or len(np.shape(self.ids)) != 1:
            given = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
            raise DataError(f"Triggers need arrays of one shape (n,), but these differ: {given}.")


@dataclass(frozen=True, eq=False)
class Measurement:
    """The yardstick of some triggers, and which of them make up the DV.

    Attributes:
        yardstick: the figures.
        counted: the positions of the distinct valid triggers among all that were given, ascending.
        given: how many triggers were given.
    """

    yardstick: Yardstick
    counted: NDArray[np.int64]
    given: int

    def dv_at(self, found: ArrayLike, marks: Sequence[float], *, end: float | None = None) -> tuple[int | None, ...]:
        """DV at each mark: how many of the counted triggers had been found by then.

        A packing in order of discovery only looks back, so one packing serves all marks.

        Args:
            found: when each given trigger was found: seconds of search clock, or queries so far.
            marks: where to read DV, in the same unit; a trigger found just at the mark counts.
            end: where the search ended; a mark beyond it gets None, since nobody knows.

        Raises:
            DataError: `found` has another length than the triggers, holds NaN, or goes backwards.
        """
        times = check_sample(found, "The times of discovery") if self.given else np.empty(0)
        if len(times) != self.given:
            raise DataError(f"{len(times)} times of discovery came for {self.given} triggers: give one for each.")
        if (np.diff(times) < 0).any():
            raise DataError("The times of discovery go backwards: give the triggers in order of discovery.")
        places = check_numbers(marks, "The list of marks")
        reached = np.searchsorted(times[self.counted], places, side="right")
        return tuple(
            None if end is not None and mark > end else int(dv) for mark, dv in zip(places, reached, strict=True)
        )


def measure(triggers: JudgedTriggers, spaces: Sequence[Space], *, found: int | None = None) -> Measurement:
    """DV of the triggers, and its parts.

    Args:
        triggers: in order of discovery.
        spaces: the same triggers as vectors, with the distance that makes two of them distinct; pixels and the
            judge's features, usually. Only valid triggers are looked at.
        found: how many triggers were found where an archive kept each image once; by default all are given.

    Raises:
        DataError: the arrays do not fit one another, or `found` is less than the triggers given.
        UsageError: there is no space, or a threshold is negative or NaN.
    """
    given = len(triggers.ids)
    total = given if found is None else check_count(found, "The number of triggers found")
    if total < given:
        raise DataError(f"{given} triggers were given, but only {total} are said to be found: correct the number.")
    for space in spaces:
        if len(space.vectors) != given:
            raise DataError(f"A space holds {len(space.vectors)} vectors for {given} triggers: give one for each.")
    first_seen = np.unique(triggers.ids, return_index=True)[1]
    unique = np.zeros(given, dtype=np.bool_)
    unique[first_seen] = True
    valid = np.flatnonzero(unique & triggers.valid)
    counted = valid[greedy_packing([space.take(valid) for space in spaces])]
    return Measurement(_figures(triggers, valid, counted, total=total, unique=len(first_seen)), counted, given)


def _figures(
    triggers: JudgedTriggers, valid: NDArray[np.int64], counted: NDArray[np.int64], *, total: int, unique: int
) -> Yardstick:
    cells = Counter(zip(triggers.label_a[counted].tolist(), triggers.label_b[counted].tolist(), strict=True))
    right_a = triggers.label_a[counted] == triggers.judged[counted]
    right_b = triggers.label_b[counted] == triggers.judged[counted]
    return Yardstick(
        triggers=total,
        unique=unique,
        valid=len(valid),
        share_valid=len(valid) / unique if unique else None,
        dv=len(counted),
        cells=len(set(zip(triggers.label_a[valid].tolist(), triggers.label_b[valid].tolist(), strict=True))),
        largest_cell_share=max(cells.values()) / len(counted) if cells else None,
        exactly_one_right=int(np.count_nonzero(right_a != right_b)),
    )
