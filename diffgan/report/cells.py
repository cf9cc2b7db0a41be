"""The disagreement matrix: how many triggers there are by label of A and label of B."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.report.run import Rows, Run

#: Up to so many classes, the matrix is drawn whole; above, its greatest cells are listed.
MOST_DRAWN = 24
#: Cells that are listed; the page finds the others by name.
MOST_LISTED = 40
_MOST_KNOWN = 3_000
_SHADES = 6


@dataclass(frozen=True)
class Cell:
    """One kind of disagreement.

    Attributes:
        a, b: the labels' numbers.
        label_a, label_b: their names.
        kept: triggers that no filter has rejected.
        found: all of them.
        shade: 1 to 6 by the number that counts, 0 for none.
        length: as a share of the greatest, in percent.
    """

    a: int
    b: int
    label_a: str
    label_b: str
    kept: int
    found: int
    shade: int
    length: int

    @property
    def short(self) -> str:
        """The kept ones, in few letters."""
        return short(self.kept)


@dataclass(frozen=True)
class Matrix:
    """All kinds of disagreement.

    Attributes:
        cells: the greatest first.
        labels: the numbers and names of the classes that occur.
        grid: a row for each of A's labels, where the matrix is drawn; None on the diagonal and where there is nothing.
    """

    cells: list[Cell]
    labels: list[tuple[int, str]]
    grid: list[tuple[tuple[int, str], list[Cell | None]]] | None

    @property
    def listed(self) -> list[Cell]:
        """The greatest."""
        return self.cells[:MOST_LISTED]

    @property
    def known(self) -> list[Cell]:
        """Those that the page can find by name."""
        return self.cells[:_MOST_KNOWN]


def matrix_of(run: Run) -> Matrix | str:
    """The matrix, or why there is none."""
    if not len(run):
        return "The search found no trigger, so there is nothing to count."
    if not run.has_labels:
        return "The models' outputs are no classes, so there are no kinds of disagreement to count by."
    cells = _cells(run)
    numbers = sorted({cell.a for cell in cells} | {cell.b for cell in cells})
    labels = [(number, run.class_name(number)) for number in numbers]
    if len(labels) > MOST_DRAWN:
        return Matrix(cells, labels, None)
    by_place = {(cell.a, cell.b): cell for cell in cells}
    rows = [(row, [by_place.get((row[0], column)) for column in numbers]) for row in labels]
    return Matrix(cells, labels, rows)


def _cells(run: Run) -> list[Cell]:
    pairs = np.stack([run.columns["label_a"], run.columns["label_b"]], axis=1)
    kinds, which = np.unique(pairs, axis=0, return_inverse=True)
    which = which.ravel()
    found = np.bincount(which, minlength=len(kinds))
    kept = np.bincount(which[run.kept], minlength=len(kinds))
    most = max(1, int(kept.max()))
    cells = [
        Cell(
            a=int(a),
            b=int(b),
            label_a=run.class_name(int(a)),
            label_b=run.class_name(int(b)),
            kept=int(kept[place]),
            found=int(found[place]),
            shade=int(np.ceil(_SHADES * (kept[place] / most) ** 0.5)),
            length=round(100 * kept[place] / most),
        )
        for place, (a, b) in enumerate(kinds.tolist())
    ]
    return sorted(cells, key=lambda cell: (-cell.kept, -cell.found, cell.a, cell.b))


def examples(run: Run, most: int, rng: np.random.Generator) -> Rows:
    """Triggers of every kind, drawn at random from the kept ones of it, or from all where none is kept.

    The greatest kinds come first, and take turns.
    """
    if not len(run):
        return np.zeros(0, dtype=np.int64)
    key = (run.columns["label_a"] + 1) * (1 << 32) + run.columns["label_b"] + 1
    kept = run.kept
    order = rng.permutation(len(run))
    # Within a kind, kept ones before the others, each at random; then one of each kind, a second of each, …
    order = order[np.lexsort((~kept[order], key[order]))]
    turns = _places_within(key[order])
    has_kept = np.isin(key[order], np.unique(key[kept]))
    usable = kept[order] | ~has_kept
    order, turns = order[usable], turns[usable]
    sizes = _sizes(key, kept)[order]
    return np.asarray(order[np.lexsort((-sizes, turns))][:most], dtype=np.int64)


def _sizes(key: Rows, kept: NDArray[np.bool_]) -> Rows:
    """How many kept triggers there are of each one's kind."""
    kinds, which = np.unique(key, return_inverse=True)
    return np.bincount(which[kept], minlength=len(kinds))[which]


def _places_within(ordered: Rows) -> Rows:
    """0, 1, 2, … within each stretch of equal values."""
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return np.arange(len(ordered)) - np.repeat(starts, np.diff(np.append(starts, len(ordered))))


def short(number: int) -> str:
    """A count in at most four letters.

    Example:
        >>> short(950), short(9_078), short(42_000), short(3_200_000)
        ('950', '9.1k', '42k', '3.2M')
    """
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            value = number / size
            return (f"{value:.1f}".removesuffix(".0") if value < 9.95 else f"{value:.0f}") + letter
    return str(number)
