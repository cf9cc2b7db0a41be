"""Prior sampling: what every guided search has to beat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from diffgan.search.strategies.protocol import NO_PARENT, Batch, State, StrategySetup
from diffgan.search.strategies.randomness import pack_generator, seeded, unpack_generator
from diffgan.search.strategies.settings import read_strategy_settings

if TYPE_CHECKING:
    from diffgan.search.divergence import Divergences


class RandomSettings(BaseModel):
    """None: a sample of the prior is a sample of the prior."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class RandomStrategy:
    """Latents from the generator's prior, classes uniform, and no use made of the answers."""

    name = "random"

    def __init__(self, setup: StrategySetup) -> None:
        read_strategy_settings(RandomSettings, setup.settings, self.name)
        self._generator = setup.required_generator(self.name)
        self._size = setup.batch_size
        self._rng = seeded(setup.seed, self.name)
        self._asked: Batch | None = None

    def warm_up(self) -> None:
        """Nothing to warm up."""

    def ask(self) -> Batch:
        """The next draws."""
        if self._asked is None:
            images, latents, classes = self._generator.sample(self._size, self._rng)
            nobody = np.full(self._size, NO_PARENT, dtype=np.int64)
            self._asked = Batch(images, latents, classes, parent=nobody)
        return self._asked

    def tell(
        self,
        outputs_a: NDArray[np.float32],  # noqa: ARG002 - the protocol's
        outputs_b: NDArray[np.float32],  # noqa: ARG002
        divergences: Divergences,  # noqa: ARG002
        is_new: NDArray[np.bool_],  # noqa: ARG002
    ) -> None:
        """Random learns nothing."""
        self._asked = None

    def state(self) -> State:
        """Where the random generator stands."""
        return {"rng": pack_generator(self._rng)}

    def restore(self, state: State) -> None:
        """Goes on from there."""
        self._asked = None
        unpack_generator(self._rng, state["rng"])

    def facts(self) -> dict[str, Any]:
        """None."""
        return {}

    def close(self) -> None:
        """Nothing to close."""


def build_random(setup: StrategySetup) -> RandomStrategy:
    """See `RandomStrategy`."""
    return RandomStrategy(setup)
