"""Who is told how a run goes: a terminal, a notebook, nobody."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from diffgan.gan_training.training import Progress
from diffgan.search.loop import Moment, Search


class Watcher(Protocol):
    """Is told how a run goes."""

    def note(self, text: str) -> None:
        """A remark, such as where the generator comes from."""
        ...

    def training(self) -> AbstractContextManager[Callable[[Progress], None]]:
        """A generator is trained; what to call after each update."""
        ...

    def searching(self, search: Search, classes: tuple[str, ...]) -> AbstractContextManager[Callable[[Moment], None]]:
        """The search begins; what to call after each batch. `search.stop()` ends it early."""
        ...

    def filtering(self) -> AbstractContextManager[Callable[[str, int, int], None]]:
        """Filters are run; what to call with a filter's name, and how many triggers of how many are done."""
        ...


class Silent:
    """A watcher that says nothing."""

    def note(self, text: str) -> None:
        """Nothing."""

    def training(self) -> AbstractContextManager[Callable[[Progress], None]]:
        """Nothing."""
        return nullcontext(lambda _: None)

    def searching(self, search: Search, classes: tuple[str, ...]) -> AbstractContextManager[Callable[[Moment], None]]:
        """Nothing."""
        del search, classes
        return nullcontext(lambda _: None)

    def filtering(self) -> AbstractContextManager[Callable[[str, int, int], None]]:
        """Nothing."""
        return nullcontext(lambda *_: None)
