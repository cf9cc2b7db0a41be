"""A selector's folder as a model: it can be compared, checked and inspected like any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError
from diffgan.models.options import Layout, ModelOptions
from diffgan.models.protocol import Array

if TYPE_CHECKING:
    from diffgan.selection.selector import Selector

_OWN = ("layout", "range", "mean", "std", "output", "input_name", "output_name", "features_name", "batch", "threads")


class SelectorRuntime:
    """Answers with what the model chosen for each image says.

    Args:
        selector: with both models open.
        folder: its own.
    """

    layout: Layout = "NCHW"
    batch: int | None = None

    def __init__(self, selector: Selector, folder: Path) -> None:
        self.selector = selector
        self.input_shape: tuple[int | None, ...] | None = (None, *selector.chooser.spec.shape)
        #: The card holds the fingerprints of the models, the features and the forest.
        self.files = [folder / "card.json"]

    def run(
        self, inputs: NDArray[np.float32], *, features: bool = False, timeout: float | None = None
    ) -> tuple[Array, Array | None]:
        """Asks one model for each image."""
        del features
        return self.selector.predict(inputs, timeout=timeout), None

    def close(self) -> None:
        """Closes both models."""
        self.selector.close()


class SelectorAdapter:
    """Opens folders that `diffgan select train` wrote."""

    def accepts(self, source: str) -> bool:
        """By the forest that lies in it."""
        return "://" not in source and Path(source, "forest.skops").is_file()

    def load(self, source: str, options: ModelOptions) -> SelectorRuntime:
        """Opens the selector and its models, which have sidecars or options of their own."""
        from diffgan.selection.selector import Selector

        given = [name for name in _OWN if getattr(options, name) != getattr(ModelOptions(), name)]
        if given:
            raise ModelError(
                f"{source} is a selector, whose models have their options in its card: leave {', '.join(given)} out."
            )
        return SelectorRuntime(Selector.load(source), Path(source))


adapter = SelectorAdapter()
