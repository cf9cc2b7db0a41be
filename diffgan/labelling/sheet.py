"""What one annotator has said in a run, and how it is taken back."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from diffgan.archive.labels import MARK_MODULUS

Rows = NDArray[np.int64]
Said = NDArray[np.int64]

NOTHING = -2
"""Stands for no label."""
INVALID = -1
"""Stands for the label of an image that shows no class."""

NO_MARK = (0, 0, 0)
"""The mark of a sheet without labels."""

_REMEMBERED = 1000


@dataclass(frozen=True, eq=False)
class Step:
    """One thing that an annotator did: a label for some triggers, or a trigger skipped.

    Attributes:
        rows: the triggers, by their place in the order of discovery, from 0.
        former: what the annotator had said of them; None for a skip.
    """

    rows: Rows
    former: Said | None


@dataclass
class Sheet:
    """One annotator's labels.

    Attributes:
        said: by the trigger's place in the order of discovery: the class, `INVALID` or `NOTHING`.
        skipped: those put off, in this order; they come again behind all others.
        steps: what was done while the page was open, the latest last.
    """

    said: Said
    skipped: dict[int, None] = field(default_factory=dict)
    steps: deque[Step] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))

    def fill(self, rows: Rows, classes: Sequence[int | None]) -> None:
        """Takes labels that the archive holds; rows that are not known (-1) are left out."""
        labels = np.array([INVALID if label is None else label for label in classes], dtype=np.int64)
        self.said[rows[rows >= 0]] = labels[rows >= 0]

    def grow(self, length: int) -> None:
        """Makes room for triggers that have come since."""
        more = length - len(self.said)
        if more > 0:
            self.said = np.concatenate([self.said, np.full(more, NOTHING, dtype=np.int64)])

    def mark(self) -> tuple[int, int, int]:
        """What `Labels.marks` says of an archive with these labels."""
        rows = np.flatnonzero(self.said != NOTHING)
        numbers, weights = rows + 1, self.said[rows] + 2
        return len(rows), int((numbers * weights).sum()), int((numbers * numbers * weights % MARK_MODULUS).sum())

    def label(self, rows: Rows, label: int) -> None:
        """Notes a label."""
        self.steps.append(Step(rows, self.said[rows].copy()))
        self.said[rows] = label

    def skip(self, row: int) -> None:
        """Puts a trigger off."""
        self.skipped.pop(row, None)
        self.skipped[row] = None
        self.steps.append(Step(np.array([row]), None))

    def undo(self) -> None:
        """Takes back the latest step."""
        step = self.steps.pop()
        if step.former is None:
            self.skipped.pop(int(step.rows[0]), None)
        else:
            self.said[step.rows] = step.former

    def forget(self, rows: Rows) -> None:
        """Steps with labels of any of these can no longer be taken back, and so neither can those before them."""
        steps = list(self.steps)
        spoilt = [place for place, one in enumerate(steps) if one.former is not None and np.isin(one.rows, rows).any()]
        if spoilt:
            self.steps = deque(steps[spoilt[-1] + 1 :], maxlen=_REMEMBERED)

    def waiting(self, rows: Rows, count: int) -> list[int]:
        """The first of these with no label and not put off."""
        unlabelled: list[int] = rows[self.said[rows] == NOTHING][: count + len(self.skipped)].tolist()
        return [row for row in unlabelled if row not in self.skipped][:count]

    def to_do(self, rows: Rows, count: int) -> list[int]:
        """The first of these with no label; those put off come last."""
        first = self.waiting(rows, count)
        if len(first) < count and self.skipped:
            among = set(rows[self.said[rows] == NOTHING].tolist())
            first += [row for row in self.skipped if row in among]
        return first[:count]
