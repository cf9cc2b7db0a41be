"""DRFuzz's seeds: the real images, and the latest of the mutants that earned a place beside them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.search.strategies.protocol import NO_PARENT, State

#: Of a checkpoint's parts only those that changed are written: images are kept in parts of so many.
_PART = 256

#: exp(-DECAY) for each generation, and for every two picks.
DECAY = np.log(20) / 20

_COLUMNS = {"root": np.int64, "generation": np.int64, "picks": np.int64, "evaluation": np.int64, "trust": np.float32}


@dataclass(frozen=True, eq=False)
class Seeds:
    """Seeds picked from the pool, a row each.

    Attributes:
        images: theirs.
        root: the real image that each comes from.
        generation: 0 for a real image, and one more than its parent's for a mutant.
        evaluation: that showed it; `NO_PARENT` for a real image.
        trust: what model B thought of its true label; NaN where it was not asked yet.
    """

    images: ByteImages
    root: NDArray[np.int64]
    generation: NDArray[np.int64]
    evaluation: NDArray[np.int64]
    trust: NDArray[np.float32]


class Pool:
    """All seeds: rows below `roots` are the real images, those above are mutants; the oldest mutant makes room.

    Args:
        images: the real ones.
        room: for so many mutants.
        most: a seed that was picked more often has the weight 0.
    """

    def __init__(self, images: ByteImages, *, room: int, most: int) -> None:
        self._images, self._most = images, most
        self.roots, self._room = len(images), room
        #: Mutants that ever joined.
        self.joined = 0
        #: Columns by name, a row for each seed.
        self._of: dict[str, NDArray[Any]] = {name: np.zeros(len(images), kind) for name, kind in _COLUMNS.items()}
        self._of["root"][:] = np.arange(len(images))
        self._of["evaluation"][:] = NO_PARENT
        self._of["trust"][:] = np.nan
        self._mutants = np.empty((0, *images.shape[1:]), dtype=np.uint8)

    def __len__(self) -> int:
        return len(self._of["root"])

    def weights(self) -> NDArray[np.float64]:
        """How likely each is to be picked: exp(-DECAY (generation + picks / 2)), and 0 for who was picked too often."""
        age = 2 * self._of["generation"] + self._of["picks"]
        weights = np.exp(np.arange(age.max() + 1) * (-DECAY / 2))[age]
        weights[self._of["picks"] > self._most] = 0
        return np.asarray(weights)

    def pick(self, count: int, rng: np.random.Generator) -> Seeds:
        """Some seeds by their weights, with replacement; once nobody has any, all picks are forgotten."""
        cumulative = np.cumsum(self.weights())
        if cumulative[-1] == 0:
            self._of["picks"][:] = 0
            cumulative = np.cumsum(self.weights())
        places = np.searchsorted(cumulative, rng.random(count) * cumulative[-1], side="right")
        np.add.at(self._of["picks"], places, 1)
        column = {name: values[places] for name, values in self._of.items()}
        return Seeds(self._shown(places), column["root"], column["generation"], column["evaluation"], column["trust"])

    def learn(self, roots: NDArray[np.int64], trust: NDArray[np.float32]) -> None:
        """What model B thinks of the true labels of some real images."""
        self._of["trust"][roots] = trust

    def trust_of(self, roots: NDArray[np.int64]) -> NDArray[np.float32]:
        """What model B thought of real images; NaN where it was not asked."""
        return np.asarray(self._of["trust"][roots])

    def join(self, mutants: Seeds) -> None:
        """Takes mutants in, in their order."""
        count = min(len(mutants.root), self._room)
        if not count:
            return
        first = len(mutants.root) - count
        places = (self.joined + first + np.arange(count)) % self._room
        self.joined += len(mutants.root)
        self._grow(min(self.joined, self._room))
        self._mutants[places] = mutants.images[first:]
        rows = self.roots + places
        self._of["picks"][rows] = 0
        for name in ("root", "generation", "evaluation", "trust"):
            self._of[name][rows] = getattr(mutants, name)[first:]

    def state(self) -> State:
        """As arrays; the images are not copied: they change only when mutants join."""
        parts = {
            f"pool/images/{start}": self._mutants[start : start + _PART]
            for start in range(0, len(self._mutants), _PART)
        }
        columns = {f"pool/{name}": self._of[name][self._kept(name) :].copy() for name in _COLUMNS}
        return {"pool/joined": np.array([self.joined]), **columns, **parts}

    def restore(self, state: State) -> None:
        """Goes on from there."""
        self.joined = int(state["pool/joined"][0])
        parts = [state[f"pool/images/{start}"] for start in range(0, min(self.joined, self._room), _PART)]
        nothing = np.empty((0, *self._images.shape[1:]), dtype=np.uint8)
        self._mutants = np.concatenate([nothing, *parts])
        for name in _COLUMNS:
            self._of[name] = np.concatenate([self._of[name][: self._kept(name)], state[f"pool/{name}"]])

    def _kept(self, name: str) -> int:
        """Rows of a column that never change, and are in no checkpoint: those of the real images, for some."""
        return 0 if name in ("picks", "trust") else self.roots

    def _shown(self, places: NDArray[np.intp]) -> ByteImages:
        images = self._images[np.minimum(places, self.roots - 1)]
        mutants = places >= self.roots
        images[mutants] = self._mutants[places[mutants] - self.roots]
        return images

    def _grow(self, count: int) -> None:
        more = count - len(self._mutants)
        if more > 0:
            self._mutants = np.concatenate([self._mutants, np.zeros((more, *self._images.shape[1:]), np.uint8)])
            self._of = {name: np.concatenate([old, np.zeros(more, old.dtype)]) for name, old in self._of.items()}
