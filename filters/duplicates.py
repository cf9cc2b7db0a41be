"""The duplicate filter: of triggers that are nearly the same, one is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive
from diffgan.errors import UsageError
from diffgan.images import ByteImages
from diffgan.stats import Packing

NAME = "duplicates"
Order = Literal["first", "divergent"]

_PAGE = 512


@dataclass(frozen=True)
class DuplicateFilter:
    """Keeps triggers that are all at least so far apart, by cosine distance on pixels.

    Other than the scoring filters, it looks at all triggers that those let pass, and anew each time: who is a duplicate
    depends on who else is there.

    Attributes:
        distance: triggers nearer than this to one that is kept do not pass.
        keep: of near ones, the `first` found, or the most `divergent`.

    Raises:
        UsageError: the distance is out of range.
    """

    distance: float
    keep: Order = "first"

    def __post_init__(self) -> None:
        if not 0 < self.distance <= 2:
            raise UsageError(f"The distance of duplicates is {self.distance:g}; expected above 0 and up to 2 (cosine).")
        if self.keep not in ("first", "divergent"):
            raise UsageError(f"Of duplicates, {self.keep!r} is to be kept; expected first or divergent.")

    def run(self, archive: Archive, watch: Callable[[int, int], None] = lambda *_: None) -> tuple[int, int]:
        """Writes its verdicts on all triggers that the other filters let pass.

        Args:
            archive: of the run.
            watch: told how many of how many are done.

        Returns:
            How many it looked at, and how many of them pass.
        """
        archive.verdicts.forget(NAME)
        packing = Packing([self.distance])
        total, done, passing = archive.count(kept_only=True), 0, 0
        for ids, images in self._pages(archive):
            passed = packing.add([images])
            reasons = ["" if good else f"nearer than {self.distance:g} to another" for good in passed]
            archive.verdicts.write(NAME, ids, passed=passed, reasons=reasons)
            done, passing = done + len(ids), passing + int(passed.sum())
            watch(done, total)
        return done, passing

    def _pages(self, archive: Archive) -> Iterator[tuple[NDArray[np.int64], ByteImages]]:
        if self.keep == "first":
            for page in archive.stream("ids", "images", size=_PAGE, kept_only=True):
                yield page["ids"], page["images"]
            return
        with archive.snapshot():  # a search may still be writing
            ids, divergence = archive.column("ids", kept_only=True), archive.column("divergence", kept_only=True)
        ordered = ids[np.argsort(-divergence, kind="stable")]
        for start in range(0, len(ordered), _PAGE):
            some = ordered[start : start + _PAGE]
            yield some, archive.find(some).images
