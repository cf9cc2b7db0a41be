"""What the search loop and a strategy have to know of each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.generators.generator import Generator
from diffgan.generators.priors import Latents
from diffgan.images import ByteImages
from diffgan.search.clock import SearchClock
from diffgan.search.stopwatch import Stopwatch

if TYPE_CHECKING:
    from diffgan.search.divergence import Divergence, Divergences

#: What a checkpoint holds of a strategy: arrays by name, and nothing that can run code.
State = dict[str, NDArray[Any]]

#: Images shown to the models at a time, unless the setup says otherwise.
DEFAULT_BATCH = 1024

#: The parent of an image that has none.
NO_PARENT = -1


@dataclass(frozen=True, eq=False)
class Batch:
    """Images to show to both models; every array that is not None has one row an image.

    Attributes:
        images: uint8, N x H x W x C.
        latents: float32, (N, genes), as the generator received them.
        classes: int64, (N,), where the generator is conditional.
        seed_index: int64, (N,), the real image that each was made from.
        parent: int64, (N,), the evaluation that each descends from, counted from 0 through the whole search;
            `NO_PARENT` where there is none.
    """

    images: ByteImages
    latents: Latents | None = None
    classes: NDArray[np.int64] | None = None
    seed_index: NDArray[np.int64] | None = None
    parent: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.images)

    def rows(self, start: int, stop: int) -> Batch:
        """A part of it."""
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        parts: dict[str, Any] = {name: None if rows is None else rows[start:stop] for name, rows in columns.items()}
        return Batch(**parts)


class Realness(Protocol):
    """Says how real images look, as a GAN's discriminator does."""

    def score(self, images: ByteImages, classes: NDArray[np.int64] | None = None, /) -> NDArray[np.float64]:
        """One score for each image (uint8, N x H x W x C), higher is more real; only their order means anything.

        Args:
            images: uint8, N x H x W x C.
            classes: what each is meant to be, for those that know classes; others take no notice.
        """
        ...


class Strategy(Protocol):
    """Says which images to try; the search calls `ask` and `tell` in turn, and nothing else in between.

    All randomness comes from the setup's seed, so that equal answers give equal batches, bit for bit.
    """

    name: str

    def warm_up(self) -> None:
        """Imports, compiles and starts what the search clock shall not pay for; called once, before it starts."""
        ...

    def ask(self) -> Batch:
        """The next images: at least one, at most the setup's batch size; until `tell`, the same again."""
        ...

    def tell(
        self,
        outputs_a: NDArray[np.float32],
        outputs_b: NDArray[np.float32],
        divergences: Divergences,
        is_new: NDArray[np.bool_],
    ) -> None:
        """What the models said of the images of the last `ask`, in their order.

        Args:
            outputs_a: of model A, a row an image.
            outputs_b: of model B.
            divergences: how far the outputs are apart, and which images are triggers.
            is_new: which images were triggers that the archive did not have.
        """
        ...

    def state(self) -> State:
        """All that the next batches depend on; asked for after a `tell`."""
        ...

    def restore(self, state: State) -> None:
        """Goes on where `state` was taken, in a strategy that was built from the same setup."""
        ...

    def facts(self) -> dict[str, Any]:
        """Small figures for the live view and the summary: numbers and texts by name."""
        ...

    def close(self) -> None:
        """Ends what `warm_up` started; called once, after the search."""
        ...


@dataclass(frozen=True, eq=False)
class StrategySetup:
    """What a strategy is built from.

    Attributes:
        generator: makes the images; None where the run has none.
        images: real images, uint8, N x H x W x C.
        labels: theirs, int64, (N,).
        seed: of all the strategy's randomness.
        settings: what the configuration says under `search`.
        batch_size: the most images of one `ask`.
        divergence: what the search maximises.
        recall: gives the images of new unique triggers back by their place in the order of discovery, from 0, as an
            archive can; None: a strategy keeps for itself what it has to remember.
        stopwatch: told how much of the time goes into diversity.
        clock: says how much time is left, for a strategy that might wait for something.
        counted: whether a count of images or queries may end the search: what is found must not depend on a clock then.
        discriminator: says how real images look; None where the run has none.
        recognises: says which images small classifiers of the data are as sure of as of most real ones; None where
            there are none.
    """

    generator: Generator | None
    images: ByteImages
    labels: NDArray[np.int64]
    seed: int
    settings: Mapping[str, Any] = field(default_factory=dict)
    batch_size: int = DEFAULT_BATCH
    divergence: Divergence | None = None
    recall: Callable[[NDArray[np.int64]], ByteImages] | None = None
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    clock: SearchClock = field(default_factory=SearchClock)
    counted: bool = False
    discriminator: Realness | None = None
    recognises: Callable[[ByteImages], NDArray[np.bool_]] | None = None

    def required_generator(self, name: str) -> Generator:
        """The generator, for a strategy that cannot do without.

        Raises:
            UsageError: the run has none.
        """
        if self.generator is None:
            raise UsageError(
                f"The strategy {name} searches a generator's latents, but there is no generator: give one."
            )
        return self.generator

    def required_discriminator(self, name: str, *, instead: str) -> Realness:
        """The discriminator, for a strategy that cannot do without.

        Args:
            name: the strategy's.
            instead: a strategy that can.

        Raises:
            UsageError: the run has none.
        """
        if self.discriminator is None:
            raise UsageError(
                f"The strategy {name} asks a discriminator how real its images look, but there is none: give "
                f"--discriminator DIR (or --generator DIR of gan train), or --strategy {instead}, which needs none."
            )
        return self.discriminator


class StrategyFactory(Protocol):
    """What an entry point of the group `diffgan.strategies` names.

    A factory may say what a run has to bring, as attributes: `needs_generator` (True where left out: a run without
    --generator trains one), `needs_discriminator` and `asks_recogniser` (False where left out).
    """

    def __call__(self, setup: StrategySetup) -> Strategy:
        """Builds the strategy.

        Raises:
            UsageError: the settings do not fit, or something that it needs is missing.
        """
        ...
