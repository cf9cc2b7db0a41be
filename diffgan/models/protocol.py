"""What a model format has to offer: a runtime that answers prepared images, and an adapter that opens it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from diffgan.models.options import Layout, ModelOptions

Array = NDArray[Any]


class Runtime(Protocol):
    """One opened model, without any pre- or post-processing: `Classifier` does that around it."""

    @property
    def layout(self) -> Layout:
        """The layout that this model takes where the options say nothing."""
        ...

    @property
    def input_shape(self) -> tuple[int | None, ...] | None:
        """The declared shape of a batch, in the model's own layout, None for what may vary; None if undeclared."""
        ...

    @property
    def batch(self) -> int | None:
        """Every call gets exactly this many images; None: any number."""
        ...

    def run(
        self, inputs: NDArray[np.float32], *, features: bool = False, timeout: float | None = None
    ) -> tuple[Array, Array | None]:
        """Answers a batch, and with `features` its features too.

        Args:
            inputs: prepared images, in the model's layout and range.
            features: also return the second output, of features.
            timeout: seconds left for the answer; only remote models need to heed it.
        """
        ...

    def close(self) -> None:
        """Frees what the runtime holds."""
        ...


class Adapter(Protocol):
    """How a format joins: an object in the entry point group `diffgan.models`."""

    def accepts(self, source: str) -> bool:
        """Whether this adapter opens `source` (a path or an address): cheap, no reading."""
        ...

    def load(self, source: str, options: ModelOptions) -> Runtime:
        """Opens `source`; raises `ModelError` with a clear line if it cannot."""
        ...
