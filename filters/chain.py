"""Filters one after another, over an archive: verdicts are written as they come, and another threshold applies at once.

A filter only looks at what those before it let pass. What it scored stays scored: a second run goes on where the first
was broken off, and a new threshold is held against the scores that are there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.drafts import replacing
from diffgan.errors import ArchiveError
from diffgan.filters import duplicates
from diffgan.filters.duplicates import DuplicateFilter
from diffgan.filters.protocol import Candidates, Filter, Scores

#: Triggers that are scored, and whose verdicts are committed, at a time.
PAGE = 512
#: Where nothing passes, the threshold is named at which this share would.
A_FEW = 0.05

_MEMORY = "filters.json"

#: Told of a filter's name, and how many triggers of how many are done.
Watch = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Stage:
    """What one filter came to.

    Attributes:
        name: of the filter.
        threshold: that it had; of duplicates, the distance.
        before: triggers that it looked at.
        passed: those of them that pass.
        would_keep_a_few: the threshold that a share of 5 % would pass; None for duplicates, or without scores.
    """

    name: str
    threshold: float
    before: int
    passed: int
    would_keep_a_few: float | None

    def as_json(self) -> dict[str, Any]:
        """For `summary.json`."""
        return {"threshold": self.threshold, "before": self.before, "passed": self.passed}


def run_chain(
    archive: Archive,
    filters: Sequence[Filter],
    *,
    folder: Path,
    unique: DuplicateFilter | None = None,
    watch: Watch = lambda *_: None,
) -> list[Stage]:
    """Runs the filters in turn, then the one for duplicates.

    Args:
        archive: of the run; its verdicts are written page by page.
        filters: in this order.
        folder: the run's: it remembers there what the scores in the archive are of.
        unique: ends the chain.
        watch: told how it goes.

    Raises:
        DiffganError: a filter cannot score; the verdicts so far stay, and another run goes on.
    """
    memory = _Memory(folder / _MEMORY)
    wanted = {one.name for one in filters}
    for name in (*(name for name in archive.verdicts.counts() if name not in wanted), duplicates.NAME):
        archive.verdicts.forget(name)
    stages = []
    for number, one in enumerate(filters):
        rejected = rejected_by(archive, filters[:number])
        _bring_up_to_date(archive, one, memory)
        _score_new(archive, one, rejected, watch)
        stages.append(_stage(archive, one, rejected))
    if unique is not None:
        before, passed = unique.run(archive, lambda done, total: watch(duplicates.NAME, done, total))
        stages.append(Stage(duplicates.NAME, unique.distance, before, passed, None))
    return stages


class _Memory:
    """Identity and threshold of each filter whose verdicts the archive holds."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, list[Any]] = {}
        try:
            self._known = dict(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError):
            return  # without it, scores are made anew

    def of(self, name: str) -> tuple[str, float] | None:
        known = self._known.get(name)
        return (str(known[0]), float(known[1])) if isinstance(known, list) and len(known) == 2 else None

    def keep(self, one: Filter, *, threshold: float | None = None) -> None:
        self._known[one.name] = [one.identity, one.threshold if threshold is None else threshold]
        try:
            with replacing(self._path) as draft:
                draft.write_text(json.dumps(self._known, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise ArchiveError(f"{self._path} cannot be written ({error.strerror}): see the disk.") from error


def _bring_up_to_date(archive: Archive, one: Filter, memory: _Memory) -> None:
    """Scores of another identity go; scores under another threshold are judged anew."""
    known = memory.of(one.name)
    if known is None or known[0] != one.identity:
        archive.verdicts.forget(one.name)
    elif known[1] != one.threshold:
        memory.keep(one, threshold=math.nan)  # unlike any, should this be broken off
        stored = archive.verdicts.read(one.name)
        for start in range(0, len(stored.ids), PAGE):
            rows = slice(start, start + PAGE)
            _write(archive, one, stored.ids[rows], stored.scores[rows])
    memory.keep(one)


def rejected_by(archive: Archive, earlier: Sequence[Filter]) -> NDArray[np.int64]:
    """The ids of what any of these filters has rejected."""
    verdicts = [archive.verdicts.read(one.name) for one in earlier]
    return np.concatenate([np.empty(0, dtype=np.int64), *(said.ids[~said.passed] for said in verdicts)])


def _score_new(archive: Archive, one: Filter, rejected: NDArray[np.int64], watch: Watch) -> None:
    """All that no filter before has rejected, and this one has not seen."""
    done, total = sum(archive.verdicts.counts().get(one.name, (0, 0))), archive.count()
    for page in archive.batches(size=PAGE, unjudged_by=one.name):
        done += len(page.ids)
        rows = np.flatnonzero(~np.isin(page.ids, rejected))
        if len(rows):
            found = Candidates(
                ids=page.ids[rows],
                images=page.images[rows],
                classes=None if page.classes is None else page.classes[rows],
                divergence=page.divergence[rows],
            )
            _write(archive, one, found.ids, one.scores(found))
        watch(one.name, min(done, total), total)


def _write(archive: Archive, one: Filter, ids: NDArray[np.int64], scores: Scores) -> None:
    passed = ~(scores < one.threshold)  # a score that is not a number passes
    reasons = ["" if good else one.reason(float(score)) for good, score in zip(passed, scores, strict=True)]
    archive.verdicts.write(one.name, ids, passed=passed, scores=scores, reasons=reasons)


def _stage(archive: Archive, one: Filter, rejected: NDArray[np.int64]) -> Stage:
    """Of the triggers that the filters before it let pass now."""
    said = archive.verdicts.read(one.name)
    counted = ~np.isin(said.ids, rejected)
    scores = said.scores[counted & ~np.isnan(said.scores)]
    few = float(np.quantile(scores, 1 - A_FEW)) if len(scores) else None
    return Stage(one.name, one.threshold, int(counted.sum()), int((counted & said.passed).sum()), few)
