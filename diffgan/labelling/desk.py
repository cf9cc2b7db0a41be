"""Where annotators, triggers and labels come together: what to show next, and what was said.

Several threads call it. Only one of them, the one that writes, labels and takes back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from threading import RLock

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.errors import DataError
from diffgan.labelling.catalogue import Catalogue, Order
from diffgan.labelling.sheet import INVALID, NO_MARK, NOTHING, Sheet
from diffgan.labels import is_machine
from diffgan.labels.consensus import MACHINE

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Count:
    """How many of how many are labelled."""

    labelled: int
    total: int


@dataclass(frozen=True)
class Tally:
    """How far an annotator has come.

    Attributes:
        triggers: of all that are to be labelled.
        clusters: those with a label at least on one trigger.
        skipped: triggers put off.
        can_undo: whether there is a step to take back.
    """

    triggers: Count
    clusters: Count
    skipped: int
    can_undo: bool


@dataclass(frozen=True)
class Undone:
    """What was taken back.

    Attributes:
        rows: the triggers, by their place in the order of discovery, from 0.
        was_skip: whether they had been put off rather than labelled.
    """

    rows: tuple[int, ...]
    was_skip: bool


class Desk:
    """The triggers of a run and what people say of them.

    Args:
        catalogue: the triggers.
        class_count: how many classes there are, where it is known.
    """

    def __init__(self, catalogue: Catalogue, class_count: int | None) -> None:
        self._lock = RLock()
        self._catalogue = catalogue
        self._class_count = class_count
        self._sheets: dict[str, Sheet] = {}

    @property
    def catalogue(self) -> Catalogue:
        """The triggers as they were seen last."""
        return self._catalogue

    # Looking

    def annotators(self) -> dict[str, int]:
        """How many labels each person has given, in all."""
        with self._lock:
            return {name: int((sheet.said != NOTHING).sum()) for name, sheet in sorted(self._sheets.items())}

    def upcoming(self, annotator: str, order: Order, *, count: int, cluster: int | None = None) -> list[int]:
        """The next triggers to label.

        Args:
            annotator: who labels.
            order: see there.
            count: so many at most.
            cluster: begin with this one; under `clusters`, go on with those after it.

        Raises:
            DataError: there is no such cluster.
        """
        with self._lock:
            rows, sheet = self._catalogue.in_order(order), self._sheet(annotator)
            if cluster is None:
                return sheet.to_do(rows, count)
            members = self._catalogue.members(cluster)
            if order is Order.CLUSTERS:
                behind = int(np.searchsorted(self._catalogue.cluster[rows], cluster))
                return sheet.to_do(np.roll(rows, -behind), count)
            first = sheet.waiting(members, count)
            chosen = set(first)
            return (first + [row for row in sheet.to_do(rows, count + len(first)) if row not in chosen])[:count]

    def said(self, annotator: str, rows: Sequence[int]) -> list[int]:
        """What the annotator says of each: a class, `INVALID` or `NOTHING`."""
        with self._lock:
            values: list[int] = self._sheet(annotator).said[list(rows)].tolist()
            return values

    def tally(self, annotator: str) -> Tally:
        """How far an annotator has come."""
        with self._lock:
            sheet, catalogue = self._sheet(annotator), self._catalogue
            done = self._labelled(sheet)
            begun = np.bincount(catalogue.cluster[done]) > 0
            return Tally(
                triggers=Count(len(done), len(catalogue.by_cluster)),
                clusters=Count(int(begun.sum()), int((catalogue.sizes > 0).sum())),
                skipped=int((sheet.said[list(sheet.skipped)] == NOTHING).sum()),
                can_undo=bool(sheet.steps),
            )

    def clusters(self, annotator: str) -> tuple[Catalogue, Rows]:
        """The triggers, and how many an annotator has labelled in each of their clusters."""
        with self._lock:
            catalogue = self._catalogue
            done = catalogue.cluster[self._labelled(self._sheet(annotator))]
            return catalogue, np.bincount(done, minlength=catalogue.clusters)

    def in_cluster(self, annotator: str, cluster: int) -> Count:
        """How far an annotator has come in one cluster; -1 is where triggers are that no one has to label."""
        with self._lock:
            members = self._catalogue.members(cluster) if cluster >= 0 else self._catalogue.by_cluster[:0]
            return Count(int((self._sheet(annotator).said[members] != NOTHING).sum()), len(members))

    def neighbour(self, annotator: str, cluster: int, *, forward: bool) -> int | None:
        """The nearest other cluster with something to label, round the end; None where there is none."""
        catalogue, done = self.clusters(annotator)
        waiting = np.flatnonzero(done < catalogue.sizes)
        waiting = waiting[waiting != cluster]
        if not len(waiting):
            return None
        beside = waiting[waiting > cluster] if forward else waiting[waiting < cluster]
        among = beside if len(beside) else waiting
        return int(among[0 if forward else -1])

    # Saying

    def label(self, archive: Archive, annotator: str, ids: Sequence[str], label: int | None) -> None:
        """Writes a label for some triggers, all or none; a former one of this annotator gives way.

        Raises:
            DataError: there is no such trigger, or no such class.
            ArchiveError: the disk refuses, or another process writes for too long; nothing has changed.
        """
        self._check(label)
        with self._lock:
            catalogue = self._catalogue
            rows = np.array(list(dict.fromkeys(catalogue.find(one) for one in ids)), dtype=np.int64)
        archive.labels.write(annotator, catalogue.ids[rows], [label] * len(rows))
        with self._lock:
            self._kept_sheet(annotator).label(rows, INVALID if label is None else label)

    def skip(self, annotator: str, hex_digits: str) -> None:
        """Puts a trigger off: it comes again behind all others.

        Raises:
            DataError: there is no such trigger.
        """
        with self._lock:
            self._kept_sheet(annotator).skip(self._catalogue.find(hex_digits))

    def undo(self, archive: Archive, annotator: str) -> Undone | None:
        """Takes back the latest step of this annotator, with former labels back in their place.

        Returns:
            What was taken back; None where nothing was done since the page was opened.

        Raises:
            ArchiveError: the disk refuses, or another process writes for too long; nothing has changed.
        """
        with self._lock:
            sheet, ids = self._sheet(annotator), self._catalogue.ids
            if not sheet.steps:
                return None
            step = sheet.steps[-1]
        if step.former is not None:
            _restore(archive, annotator, ids[step.rows], step.former)
        with self._lock:
            sheet.undo()
        return Undone(tuple(step.rows.tolist()), was_skip=step.former is None)

    # What others have changed

    def adopt(self, catalogue: Catalogue) -> None:
        """Takes a newer catalogue of the same archive."""
        with self._lock:
            self._catalogue = catalogue
            for sheet in self._sheets.values():
                sheet.grow(len(catalogue))

    def is_behind(self, archive: Archive) -> bool:
        """Whether the archive has labels by people that came in otherwise, as from a file.

        Raises:
            ArchiveError: the file cannot be read.
        """
        there = archive.labels.marks(but=MACHINE)
        with self._lock:
            here = {name: sheet.mark() for name, sheet in self._sheets.items()}
        return there != {name: mark for name, mark in here.items() if mark != NO_MARK}

    def catch_up(self, archive: Archive) -> None:
        """Reads what people have said; steps to take back are kept, where others have not changed what they were of.

        Raises:
            ArchiveError: the file cannot be read.
        """
        names = [name for name in archive.labels.counts() if not is_machine(name)]
        read = {name: archive.labels.read(name) for name in names}
        with self._lock:
            before = {name: sheet.said.copy() for name, sheet in self._sheets.items()}
            for sheet in self._sheets.values():
                sheet.said[:] = NOTHING
            for name, labels in read.items():
                self._kept_sheet(name).fill(self._catalogue.places_of(labels.ids), labels.classes)
            for name, said in before.items():
                self._sheets[name].forget(np.flatnonzero(self._sheets[name].said != said))

    # Within

    def _sheet(self, annotator: str) -> Sheet:
        """The annotator's sheet; of one who has done nothing yet, an empty one that is not kept."""
        sheet = self._sheets.get(annotator)
        return sheet or Sheet(np.full(len(self._catalogue), NOTHING, dtype=np.int64))

    def _kept_sheet(self, annotator: str) -> Sheet:
        return self._sheets.setdefault(annotator, self._sheet(annotator))

    def _labelled(self, sheet: Sheet) -> Rows:
        rows = self._catalogue.by_cluster
        done: Rows = rows[sheet.said[rows] != NOTHING]
        return done

    def _check(self, label: int | None) -> None:
        if label is not None and not 0 <= label < (self._class_count or label + 1):
            raise DataError(f"The label {label} is no class; expected 0 to {(self._class_count or 1) - 1}, or invalid.")


def _restore(archive: Archive, annotator: str, ids: Rows, former: Rows) -> None:
    """Former labels back in their place; where there was none, none."""
    new = former == NOTHING
    if new.any():
        archive.labels.remove(annotator, ids[new])
    if not new.all():
        classes = [None if label == INVALID else int(label) for label in former[~new].tolist()]
        archive.labels.write(annotator, ids[~new], classes)
