"""Triggers in clusters: small groups of like images on which the models disagree in the same way.

A search clusters a sample of its triggers, for its own ends, and keeps no cluster of each. So the page makes its own:
the triggers of one cell (label of A, label of B), halved by 2-means on coarse pixels until each part is small enough
for one look. Cells of few triggers, as with very many classes, go together and are halved in the same way. A cluster
keeps its number and its members' places when new triggers arrive; only one that has become too large gives some of
them away.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from diffgan.images import ByteImages
from diffgan.stats.distances import directions

Rows = NDArray[np.int64]
Floats = NDArray[np.float32]

#: Members of a cluster: as many as one sees at a glance.
MOST = 48
#: A cluster that has grown beyond so many times `MOST` is divided.
_OVERGROWN = 2
#: A cell of fewer triggers has no clusters of its own.
_FEW = 8
_POOL = -1
#: Waves kept of each side of an image.
_WAVES = 8
#: Of larger images, every second, third, ... pixel is looked at.
_PIXELS = 64
_ROUNDS = 8
#: A part smaller than this share is no half: then the middle divides.
_LEAST_SHARE = 0.1


def coarse(images: ByteImages) -> Floats:
    """What is seen of images from afar: the lowest waves of their cosine transform, at length 1.

    Example:
        >>> coarse(np.zeros((3, 28, 28, 1), dtype=np.uint8)).shape
        (3, 65)
    """
    step = max(1, *(side // _PIXELS for side in images.shape[1:3]))
    images = images[:, ::step, ::step]
    _, height, width, _ = images.shape
    across = np.einsum("nhwc,ah->nawc", images.astype(np.float32), _waves(height), optimize=True)
    return directions(np.einsum("nawc,bw->nabc", across, _waves(width), optimize=True))


def halved(points: Floats, most: int) -> list[Rows]:
    """The rows in groups of at most `most`, by 2-means again and again; near groups stand near each other."""
    groups, waiting = [], [np.arange(len(points))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= most:
            groups.append(rows)
            continue
        second = _second_half(points[rows])
        waiting += [rows[second], rows[~second]]
    return groups


class Grouping:
    """The clusters of the triggers seen so far, by their place in the order of discovery, from 0.

    Args:
        most: members of a new cluster.

    Attributes:
        cluster: the number of each trigger's cluster, from 0; -1 for one that has none yet.
        place: where each trigger stands within its cluster, from 0: those in the middle first.
    """

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self.cluster = np.zeros(0, dtype=np.int64)
        self.place = np.zeros(0, dtype=np.int64)
        self._points = np.zeros((0, 0), dtype=np.float32)
        self._row = np.zeros(0, dtype=np.int64)
        self._members: list[Rows] = []
        self._cells: list[int] = []
        self._homes: dict[int, list[int]] = {}

    def __len__(self) -> int:
        """How many clusters there are."""
        return len(self._members)

    def extend(self, triggers: Rows, cells: Rows, points: Floats) -> None:
        """Takes in more triggers, none of which it has.

        Args:
            triggers: their places in the order of discovery.
            cells: a number for each pair of labels, from 0.
            points: their images, as `coarse` sees them.
        """
        if not len(triggers):
            return
        self._remember(triggers, points)
        pending: list[tuple[int, Rows]] = []
        cells = self._pooled(cells)
        by_cell = np.argsort(cells, kind="stable")
        kinds, starts = np.unique(cells[by_cell], return_index=True)
        for cell, rows in zip(kinds.tolist(), np.split(by_cell, starts[1:]), strict=True):
            homes = self._homes.get(cell)
            if homes:
                self._join(triggers[rows], homes)
            else:
                pending.append((cell, triggers[rows]))
        self._divide(pending)

    def _pooled(self, cells: Rows) -> Rows:
        """The cells, with those of few triggers and no clusters yet as one."""
        kinds, which, counts = np.unique(cells, return_inverse=True, return_counts=True)
        is_home = np.array([int(kind) in self._homes for kind in kinds])
        return np.where((is_home | (counts >= _FEW))[which], cells, _POOL)

    def _remember(self, triggers: Rows, points: Floats) -> None:
        more = int(triggers.max()) + 1 - len(self.cluster)
        if more > 0:
            absent = np.full(more, -1, dtype=np.int64)
            self.cluster, self.place, self._row = (
                np.concatenate([known, absent]) for known in (self.cluster, self.place, self._row)
            )
        self._row[triggers] = np.arange(len(points)) + len(self._points)
        self._points = np.concatenate([self._points, points]) if len(self._points) else points

    def _join(self, arrived: Rows, homes: Sequence[int]) -> None:
        """Each goes to the cluster of its cell whose middle is nearest, behind those that are there."""
        middles = np.stack([self._points[self._row[self._members[home]]].mean(axis=0) for home in homes])
        points = self._points[self._row[arrived]]
        nearest = np.argmax(points @ middles.T - (middles * middles).sum(axis=1) / 2, axis=1)
        for number, home in enumerate(homes):
            joining = arrived[nearest == number]
            if len(joining):
                self._set(home, np.concatenate([self._members[home], joining]))

    def _divide(self, pending: Sequence[tuple[int, Rows]]) -> None:
        """New numbers go round the cells, the largest cell first: early numbers show every kind of disagreement."""
        new = []
        for cell, members in pending:
            new += [(turn, -len(members), cell, part) for turn, part in enumerate(self._parts(members))]
        for number in range(len(self._members)):
            members = self._members[number]
            if len(members) > _OVERGROWN * self._most:
                first, *others = self._parts(members)
                self._set(number, first)
                new += [(turn, -len(members), self._cells[number], part) for turn, part in enumerate(others)]
        for _, _, cell, part in sorted(new, key=lambda one: one[:3]):
            self._members.append(part)
            self._cells.append(cell)
            self._homes.setdefault(cell, []).append(len(self._cells) - 1)
            self._set(len(self._members) - 1, part)

    def _parts(self, members: Rows) -> list[Rows]:
        """The groups, each with its middle first."""
        points = self._points[self._row[members]]
        parts = []
        for rows in halved(points, self._most):
            away = np.linalg.norm(points[rows] - points[rows].mean(axis=0), axis=1)
            parts.append(members[rows[np.argsort(away, kind="stable")]])
        return parts

    def _set(self, number: int, members: Rows) -> None:
        self._members[number] = members
        self.cluster[members] = number
        self.place[members] = np.arange(len(members))


def _second_half(points: Floats) -> NDArray[np.bool_]:
    """Which points belong to the second of two means, that began far apart."""
    first = points[np.argmax(((points - points.mean(axis=0)) ** 2).sum(axis=1))]
    second = points[np.argmax(((points - first) ** 2).sum(axis=1))]
    is_second = np.zeros(len(points), dtype=np.bool_)
    for _ in range(_ROUNDS):
        along = second - first
        now = points @ along > float((first + second) @ along) / 2
        if now.all() or not now.any() or (now == is_second).all():
            break
        is_second, first, second = now, points[~now].mean(axis=0), points[now].mean(axis=0)
    if _LEAST_SHARE <= is_second.mean() <= 1 - _LEAST_SHARE:
        return is_second
    middle = np.zeros(len(points), dtype=np.bool_)
    middle[np.argsort(points @ (second - first), kind="stable")[len(points) // 2 :]] = True
    return middle


def _waves(length: int) -> Floats:
    """The lowest cosine waves over `length` pixels, a row each."""
    count = min(_WAVES, length)
    waves = np.cos(np.pi * np.arange(count)[:, None] * (np.arange(length) + 0.5) / length)
    waves[0] /= np.sqrt(2)
    return waves.astype(np.float32)
