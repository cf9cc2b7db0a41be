"""A GAN's discriminator as filters use it: bytes in, one number an image out."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from diffgan.errors import DataError, GeneratorError
from diffgan.features.learned import weights_fingerprint
from diffgan.generators.artifact import read_discriminator
from diffgan.generators.card import DataCard
from diffgan.images import ByteImages, ImageSpec, check_bytes, to_floats
from diffgan.precision import brisk
from diffgan.system import keep_freed_memory

#: More than this is scored in several calls, so that the maps between the layers fit the processor's cache.
LARGEST_CALL = 256

#: In place of the class of an image that has none.
NO_CLASS = -1


@dataclass(frozen=True, eq=False)
class Discriminator:
    """Says how real images look; its scores are unbounded, and only their order and quantiles mean anything.

    Attributes:
        name: for messages and reports.
        classes: how many classes it knows; None: it knows none, and takes no notice of those that it is given.
        spec: the size of its images.
        data: what it was trained on, and which rows of that it never saw.
        fingerprint: of its weights.
        network: gives the scores; conditional ones take a label for each image.
    """

    name: str
    classes: int | None
    spec: ImageSpec
    data: DataCard
    fingerprint: str
    network: nn.Module

    def score(self, images: ByteImages, classes: NDArray[np.int64] | None = None) -> NDArray[np.float64]:
        """One score for each image, higher is more real.

        Args:
            images: uint8, N x H x W x C.
            classes: what each image is meant to be, -1 where it is not known: the greatest score over all classes
                counts then, as it does for all images where this is None.

        Raises:
            DataError: the images are of another size, or the classes do not fit.
        """
        given = check_bytes(images, "The discriminator's input")
        if ImageSpec.of_bytes(given) != self.spec:
            raise DataError(
                f"The discriminator of {self.name} takes images of {self.spec}, not {ImageSpec.of_bytes(given)}: give "
                "one that was trained on such images."
            )
        chosen = self._checked(classes, len(given))
        scores = np.empty(len(given), dtype=np.float64)
        for labelled in (True, False):
            rows = np.flatnonzero((chosen != NO_CLASS) == labelled)
            for start in range(0, len(rows), LARGEST_CALL):
                part = rows[start : start + LARGEST_CALL]
                labels = torch.from_numpy(chosen[part]) if labelled else None
                scores[part] = self._scores(given[part], labels)
        return scores

    def _checked(self, classes: NDArray[np.int64] | None, count: int) -> NDArray[np.int64]:
        """A class for each image; none at all for a network that knows none."""
        if classes is None or self.classes is None:
            return np.full(count, NO_CLASS, dtype=np.int64)
        if classes.shape != (count,):
            raise DataError(f"{count} images came with classes of shape {classes.shape}; expected one each.")
        if count and (classes.min() < NO_CLASS or classes.max() >= self.classes):
            raise DataError(
                f"The discriminator of {self.name} knows classes 0 to {self.classes - 1}, and -1 for none, not "
                f"{classes.min()} to {classes.max()}: take one from a GAN of the same data."
            )
        return classes.astype(np.int64)

    def _scores(self, images: ByteImages, labels: Tensor | None) -> NDArray[np.float32]:
        with torch.inference_mode():
            floats = torch.from_numpy(to_floats(images)).contiguous(memory_format=torch.channels_last)
            scores = brisk(self.network)(floats, labels)
        if not torch.isfinite(scores).all():
            raise GeneratorError(f"The discriminator of {self.name} gives scores that are not finite: train it again.")
        return scores.numpy()


def load_discriminator(folder: str | os.PathLike[str]) -> Discriminator:
    """The discriminator in a folder that `gan train` wrote.

    Raises:
        GeneratorError: the folder holds no such GAN, or it is damaged.
    """
    keep_freed_memory()
    path = Path(folder)
    if not path.is_dir():
        raise GeneratorError(f"There is no discriminator {path}: give a folder that gan train wrote.")
    network, card = read_discriminator(path)
    return Discriminator(
        name=path.resolve().name,
        classes=card.architecture.classes,
        spec=ImageSpec(*card.architecture.image),
        data=card.data,
        fingerprint=weights_fingerprint(network.state_dict()),
        network=network.to(memory_format=torch.channels_last),
    )
