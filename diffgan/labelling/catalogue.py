"""Which triggers there are to label, and in which order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.errors import DataError
from diffgan.images import hex_id, id_from_hex
from diffgan.labelling.grouping import Grouping, coarse

Rows = NDArray[np.int64]
Progress = Callable[[int, int], None]

_CHUNK_BYTES = 8 * 1024 * 1024


class Order(StrEnum):
    """Which trigger comes next.

    `spread`: one of each cluster, then another of each. `clusters`: each cluster to its end. `random`: by the ids,
    which are random numbers; the same for everybody.
    """

    SPREAD = "spread"
    CLUSTERS = "clusters"
    RANDOM = "random"


@dataclass(frozen=True, kw_only=True, eq=False)
class Catalogue:
    """The triggers of an archive as they stood at one moment, by their place in the order of discovery, from 0.

    Attributes:
        ids: of the images.
        label_a: what A says.
        label_b: what B says.
        wanted: which are to be labelled; the others have been rejected by a filter.
        cluster: the number of the cluster, from 0; -1 for some that are not wanted.
        place: where a trigger stands within its cluster.
        clusters: how many clusters there are.
    """

    ids: Rows
    label_a: Rows
    label_b: Rows
    wanted: NDArray[np.bool_]
    cluster: Rows
    place: Rows
    clusters: int

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def by_cluster(self) -> Rows:
        """The wanted triggers, cluster after cluster."""
        rows = np.flatnonzero(self.wanted)
        return rows[np.lexsort((self.place[rows], self.cluster[rows]))]

    @cached_property
    def spread(self) -> Rows:
        """The wanted triggers, the first of each cluster, then the second of each, and so on."""
        rows = np.flatnonzero(self.wanted)
        return rows[np.lexsort((self.cluster[rows], self.place[rows]))]

    @cached_property
    def random(self) -> Rows:
        """The wanted triggers in the order of their ids."""
        rows = np.flatnonzero(self.wanted)
        return rows[np.argsort(self.ids[rows], kind="stable")]

    @cached_property
    def sizes(self) -> Rows:
        """How many wanted triggers each cluster has."""
        return np.bincount(self.cluster[self.wanted], minlength=self.clusters)

    def in_order(self, order: Order) -> Rows:
        """The wanted triggers."""
        if order is Order.SPREAD:
            return self.spread
        return self.by_cluster if order is Order.CLUSTERS else self.random

    def members(self, cluster: int) -> Rows:
        """The wanted triggers of one cluster.

        Raises:
            DataError: there is no such cluster.
        """
        if not 0 <= cluster < self.clusters:
            raise DataError(f"There is no cluster {cluster + 1}; expected 1 to {self.clusters}.")
        first = self._starts[cluster]
        return self.by_cluster[first : first + self.sizes[cluster]]

    def find(self, hex_digits: str) -> int:
        """The place of a trigger in the order of discovery.

        Raises:
            DataError: there is none with this id.
        """
        number = id_from_hex(hex_digits)
        at = int(np.searchsorted(self._sorted_ids, number))
        if at == len(self) or self._sorted_ids[at] != number:
            raise DataError(f"There is no trigger {hex_digits} here: copy the id from the run's report.")
        return int(self._by_id[at])

    def places_of(self, ids: Rows) -> Rows:
        """The places of triggers in the order of discovery, leaving out those that came after this moment."""
        at = np.searchsorted(self._sorted_ids, ids)
        at[at == len(self)] = 0
        found = self._sorted_ids[at] == ids if len(self) else np.zeros(len(ids), dtype=np.bool_)
        return np.where(found, self._by_id[at] if len(self) else -1, -1)

    def hex_id(self, row: int) -> str:
        """The id of a trigger as people write it."""
        return hex_id(int(self.ids[row]))

    def prepare(self) -> None:
        """Sorts all that is asked for later."""
        for name in ("by_cluster", "spread", "random", "sizes", "_starts", "_sorted_ids"):
            getattr(self, name)

    @cached_property
    def _starts(self) -> Rows:
        return np.concatenate([[0], np.cumsum(self.sizes)])

    @cached_property
    def _by_id(self) -> Rows:
        return np.argsort(self.ids, kind="stable")

    @cached_property
    def _sorted_ids(self) -> Rows:
        return self.ids[self._by_id]


@dataclass
class Reader:
    """Makes a catalogue of an archive, and a new one where triggers or verdicts have come since.

    Args:
        everything: whether triggers that a filter has rejected are wanted, too.
    """

    everything: bool
    _grouping: Grouping = field(default_factory=Grouping)
    _seen: tuple[int, int] = (-1, -1)

    def read(self, archive: Archive, progress: Progress | None = None) -> Catalogue | None:
        """The catalogue as it is now; None where nothing has changed since the last one.

        Raises:
            ArchiveError: the file cannot be read.
        """
        with archive.snapshot():
            seen = (archive.count(), archive.count(kept_only=True))
            if seen == self._seen:
                return None
            names = ("ids", "label_a", "label_b", "kept")
            pages = list(archive.stream(*names))
            ids, label_a, label_b, kept = (np.concatenate([page[name] for page in pages] or [_NONE]) for name in names)
        wanted = np.ones(len(ids), dtype=np.bool_) if self.everything else kept.astype(np.bool_)
        self._group(archive, wanted, ((label_a + 1) << 32) + label_b + 1, progress)
        self._seen = seen
        made = Catalogue(
            ids=ids,
            label_a=label_a,
            label_b=label_b,
            wanted=wanted,
            cluster=_padded(self._grouping.cluster, len(ids)),
            place=_padded(self._grouping.place, len(ids)),
            clusters=len(self._grouping),
        )
        made.prepare()
        return made

    def _group(self, archive: Archive, wanted: NDArray[np.bool_], cells: Rows, progress: Progress | None) -> None:
        new = np.flatnonzero(wanted & (_padded(self._grouping.cluster, len(wanted)) < 0))
        size = archive.image_spec
        step = max(1, _CHUNK_BYTES // (size.channels * size.height * size.width))
        points = []
        for start in range(0, len(new), step):
            points.append(coarse(archive.images_at(new[start : start + step] + 1)))
            if progress is not None:
                progress(min(start + step, len(new)), len(new))
        if points:
            self._grouping.extend(new, cells[new], np.concatenate(points))


_NONE = np.zeros(0, dtype=np.int64)


def _padded(known: Rows, length: int) -> Rows:
    """A copy of at least this length, with -1 for what is not known."""
    return np.concatenate([known, np.full(max(0, length - len(known)), -1, dtype=np.int64)])
