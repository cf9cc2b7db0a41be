"""A run that is being labelled: its archive in three threads, and the desk."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from diffgan.archive import Archive
from diffgan.archive.export.names import shown_names
from diffgan.errors import ArchiveError, UsageError
from diffgan.images import ImageSpec
from diffgan.labelling.catalogue import Catalogue, Progress, Reader
from diffgan.labelling.desk import Desk
from diffgan.labelling.threads import ArchiveThread
from diffgan.labels.texts import ClassTexts

Answer = TypeVar("Answer")

_LOOK_SECONDS = 2.0
#: Looking for what is new takes at most this share of the time.
_SHARE = 0.1
#: Sayings whose answers are kept; each page has one under way at a time.
_REMEMBERED = 1000


@dataclass(frozen=True)
class RunFacts:
    """What does not change about a run while it is labelled."""

    image: ImageSpec
    classes: tuple[str, ...]


class Office:
    """Serves one run: reading is never kept waiting by writing, nor by looking for what is new.

    Args:
        path: the archive.
        everything: whether triggers that a filter has rejected are labelled, too.
        progress: is called with how many triggers are grouped, and how many there are.
        look_seconds: what others have written is looked for so often, at most.

    Raises:
        UsageError: there is nothing to label.
        ArchiveError: the archive cannot be read, or not be written.
    """

    def __init__(
        self,
        path: Path,
        *,
        everything: bool = False,
        progress: Progress | None = None,
        look_seconds: float = _LOOK_SECONDS,
    ) -> None:
        self._catalogue_reader = Reader(everything)
        self._look_seconds = look_seconds
        with ExitStack() as opened:
            self._writer, self._pages, self._news = (
                opened.enter_context(closing(ArchiveThread(path, read_only=read_only)))
                for read_only in (False, True, True)
            )
            self._writer.ask(_check_writable).result()
            self.facts, catalogue = self._news.ask(lambda archive: self._first_look(archive, progress)).result()
            self.desk = Desk(catalogue, len(self.facts.classes))
            self._writer.ask(self.desk.catch_up).result()
            self._pages.ask(lambda archive: archive.contains(catalogue.ids[:1])).result()  # it indexes at first use
            self._opened = opened.pop_all()
        self._next_look, self._looking = time.monotonic() + look_seconds, False
        #: The answers to the latest sayings, by their names.
        self._done: OrderedDict[str, Any] = OrderedDict()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Finishes what was asked, and closes the archive."""
        self._opened.close()

    async def read(self, work: Callable[[Archive], Answer]) -> Answer:
        """The answer of work that only reads the archive."""
        self._look_for_news()
        return await asyncio.wrap_future(self._pages.ask(work))

    async def write(self, work: Callable[[Archive], Answer], *, saying: str | None = None) -> Answer:
        """The answer of work that writes to the archive; one is done after another.

        Args:
            work: what is to be done.
            saying: its name; work of a name that was done before is not done again, and has the same answer.
        """
        self._look_for_news()
        return await asyncio.wrap_future(self._writer.ask(lambda archive: self._once(archive, work, saying)))

    def _once(self, archive: Archive, work: Callable[[Archive], Answer], saying: str | None) -> Answer:
        """In the writer's thread: no two run at a time."""
        if saying is None:
            return work(archive)
        if saying not in self._done:
            self._done[saying] = work(archive)
            if len(self._done) > _REMEMBERED:
                self._done.popitem(last=False)
        answer: Answer = self._done[saying]
        return answer

    def _first_look(self, archive: Archive, progress: Progress | None) -> tuple[RunFacts, Catalogue]:
        if not archive.count():
            raise UsageError(f"{archive.path.parent} has no triggers yet, so there is nothing to label: search longer.")
        if not archive.has("label_a") or not archive.has("label_b"):
            raise UsageError(
                f"The models of {archive.path.parent} give no classes (their task is no classification), so its "
                "triggers cannot be labelled by class."
            )
        catalogue = self._catalogue_reader.read(archive, progress)
        if catalogue is None or not catalogue.wanted.any():
            raise UsageError(
                f"The filters rejected all {archive.count():,} triggers of {archive.path.parent}: label those with "
                "--all, or run the filters with lower thresholds."
            )
        return RunFacts(archive.image_spec, _class_names(archive, catalogue)), catalogue

    def _look_for_news(self) -> None:
        """Called with every request: has triggers, verdicts and labels read that others have written since."""
        if self._looking or time.monotonic() < self._next_look:
            return
        self._looking = True
        self._news.ask(self._take_news)

    def _take_news(self, archive: Archive) -> None:
        began = time.monotonic()
        try:
            with suppress(ArchiveError):  # whoever asks for a page is told
                catalogue = self._catalogue_reader.read(archive)
                if catalogue is not None:
                    self.desk.adopt(catalogue)
                if self.desk.is_behind(archive):
                    self._writer.ask(self._catch_up).result()
        finally:
            now = time.monotonic()
            self._next_look = now + max(self._look_seconds, (now - began) / _SHARE)
            self._looking = False

    def _catch_up(self, archive: Archive) -> None:
        if self.desk.is_behind(archive):  # a label was on its way, otherwise
            self.desk.catch_up(archive)


def _check_writable(archive: Archive) -> None:
    """An archive that cannot be written says so now, and not at the first label."""
    archive.labels.remove("", np.zeros(0, dtype=np.int64))


def _class_names(archive: Archive, catalogue: Catalogue) -> tuple[str, ...]:
    """Those that the archive takes labels of; models may know more than the data has."""
    texts = ClassTexts.of(archive)
    seen = int(max(catalogue.label_a.max(), catalogue.label_b.max())) + 1
    return shown_names(texts.names, texts.count or seen)
