"""Individuals of a generation, as arrays: a column each for genes, objectives, and what is known of the image."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.strategies.protocol import State

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: The cell of an image that is no trigger.
NO_CELL = -1

_WORD = 8
_HASH_SEED = 0x5EED


@dataclass(frozen=True, eq=False)
class Population:
    """N individuals. Their images are not kept: a generator gives them again.

    Attributes:
        points: float32, (N, genes), in the search box.
        classes: (N,), 0 where the generator takes none.
        divergence: (N,), to be maximised.
        diversity: (N,), to be maximised.
        cell: (N,), a number for the pair (label of A, label of B) of a trigger, else `NO_CELL`.
        evaluation: (N,), when each was shown to the models, counted from 0.
        matings: (N,), how often each was a parent.
        fingerprint: (N,), equal for equal images.
        known: (N,), whether the archive had the image already, or would not take it.
    """

    points: NDArray[np.float32]
    classes: Ints
    divergence: Floats
    diversity: Floats
    cell: Ints
    evaluation: Ints
    matings: Ints
    fingerprint: NDArray[np.uint64]
    known: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.points)

    @property
    def objectives(self) -> Floats:
        """(N, 2), both to be maximised."""
        return np.column_stack([self.divergence, self.diversity])

    @classmethod
    def empty(cls, genes: int) -> Self:
        """Nobody."""
        ints, floats = np.empty(0, dtype=np.int64), np.empty(0)
        return cls(
            points=np.empty((0, genes), dtype=np.float32),
            classes=ints,
            divergence=floats,
            diversity=floats,
            cell=ints,
            evaluation=ints,
            matings=ints,
            fingerprint=np.empty(0, dtype=np.uint64),
            known=np.empty(0, dtype=np.bool_),
        )

    def take(self, rows: Ints) -> Self:
        """Those rows, in that order."""
        return type(self)(**{name: column[rows] for name, column in self._columns().items()})

    def joined(self, other: Self) -> Self:
        """These, then the others."""
        theirs = other._columns()
        return type(self)(**{name: np.concatenate([own, theirs[name]]) for name, own in self._columns().items()})

    def rescored(self, diversity: Floats) -> Self:
        """The same with another diversity."""
        return replace(self, diversity=diversity)

    def mated(self, parents: Ints) -> Self:
        """The same after those rows were parents, once for each time that they are named."""
        return replace(self, matings=self.matings + np.bincount(parents, minlength=len(self)))

    def to_state(self, prefix: str) -> State:
        """The columns, for a checkpoint."""
        return {prefix + name: column for name, column in self._columns().items()}

    @classmethod
    def from_state(cls, state: State, prefix: str) -> Self:
        """What `to_state` gave."""
        return cls(**{field.name: state[prefix + field.name] for field in fields(cls)})

    def _columns(self) -> dict[str, NDArray[Any]]:
        return {field.name: getattr(self, field.name) for field in fields(self)}


def fingerprints(images: ByteImages) -> NDArray[np.uint64]:
    """One number an image, equal for equal images: much cheaper than an id, and good for one run only."""
    rows = np.ascontiguousarray(images).reshape(len(images), -1)
    missing = -rows.shape[1] % _WORD
    if missing:
        rows = np.pad(rows, ((0, 0), (0, missing)))
    words = rows.view(np.uint64)
    factors = _factors(words.shape[1])
    # Multiplication only carries upwards, so the upper half of a word is brought down first.
    mixed = words ^ (words >> np.uint64(32))
    return np.asarray(np.einsum("nw,w->n", mixed, factors))


@cache
def _factors(count: int) -> NDArray[np.uint64]:
    return np.random.default_rng(_HASH_SEED).integers(0, 2**64, count, dtype=np.uint64) | np.uint64(1)


def first_of_each(fingerprint: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which rows have a fingerprint that no row before them has."""
    first = np.zeros(len(fingerprint), dtype=np.bool_)
    first[np.unique(fingerprint, return_index=True)[1]] = True
    return first
