"""What every feature extractor offers, and the choice of one by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.images import ByteImages

#: `learned` is made from the data (see learned.py); the others come with weights of their own.
NAMES = ("learned", "inception", "vgg16")


class Extractor(Protocol):
    """Turns images into vectors in which distances mean something."""

    @property
    def name(self) -> str:
        """`learned`, `inception` or `vgg16`."""
        ...

    @property
    def identity(self) -> str:
        """The name with a fingerprint of the weights; scores of different identities do not compare."""
        ...

    def features(self, images: ByteImages) -> NDArray[np.float32]:
        """N x F for images (uint8, N x H x W x C)."""
        ...


def check_name(name: str, weights: Path | None) -> None:
    """Makes certain that there is such an extractor, and that the file for it makes sense.

    Raises:
        UsageError: there is none, or it takes no file of weights.
    """
    if name not in NAMES:
        raise UsageError(f"There is no extractor {name!r}; expected one of {', '.join(NAMES)}.")
    if name == "learned" and weights is not None:
        raise UsageError("--weights is for the extractors inception and vgg16: learned is trained on the data itself.")


def open_pretrained(name: str, weights: Path | None, *, open_module: Callable[[Path], Callable[..., Any]]) -> Extractor:
    """`inception` or `vgg16`, with weights from a file or from where their package keeps them.

    Args:
        name: of the extractor.
        weights: a file; None: the package's own.
        open_module: opens a TorchScript file after a look at what is inside.

    Raises:
        UsageError: there is no such extractor.
        ModelError: the file cannot be read or does not fit, or a download failed.
        MissingExtraError: the package with the weights is not there.
    """
    check_name(name, weights)
    if name == "vgg16":
        from diffgan.features.vgg16 import open_vgg16

        return open_vgg16(weights)
    if name == "inception":
        from diffgan.features.inception import open_inception

        return open_inception(weights, open_module=open_module)
    raise UsageError("learned is trained on the data itself: there is nothing to open.")
