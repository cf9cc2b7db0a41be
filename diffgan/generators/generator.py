"""A generator as searches use it: latents (and classes) in, bytes out, whatever made it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffgan.errors import GeneratorError
from diffgan.generators.artifact import artifact_fingerprint, read_generator
from diffgan.generators.priors import Latents, Prior
from diffgan.images import ByteImages, ImageSpec
from diffgan.precision import brisk
from diffgan.system import keep_freed_memory

#: Latents and labels to float images, N x C x H x W in [0, 1].
Network = Callable[[Tensor, Tensor | None], Tensor]

#: More than this is generated in several calls, so that the maps between the layers fit the processor's cache.
LARGEST_CALL = 256


@dataclass(frozen=True)
class Generator:
    """Images from latents.

    Attributes:
        name: for messages and reports.
        latent: the number of genes.
        prior: what it was trained with; also the search box.
        classes: how many classes it takes; None: it takes no class.
        spec: the size of its images.
        fingerprint: of its weights.
        data: the fingerprint of the data that it was trained on, where it is known.
        network: makes the images.
        source: where it came from.
    """

    name: str
    latent: int
    prior: Prior
    classes: int | None
    spec: ImageSpec
    fingerprint: str
    data: str | None
    network: Network
    source: str = ""

    def images(self, latents: Latents, classes: NDArray[np.int64] | None = None) -> ByteImages:
        """Images, rounded to bytes, N x H x W x C.

        Args:
            latents: float32, (N, latent), as the prior gives them.
            classes: (N,), exactly where the generator is conditional.

        Raises:
            GeneratorError: latents or classes do not fit, or the network fails.
        """
        self._check(latents, classes)
        images = np.empty((len(latents), self.spec.height, self.spec.width, self.spec.channels), dtype=np.uint8)
        for start in range(0, len(latents), LARGEST_CALL):
            stop = min(start + LARGEST_CALL, len(latents))
            images[start:stop] = self._part(latents[start:stop], None if classes is None else classes[start:stop])
        return images

    def sample(self, count: int, rng: np.random.Generator) -> tuple[ByteImages, Latents, NDArray[np.int64] | None]:
        """Seeded images from the prior, with their latents and, where it is conditional, uniform classes."""
        latents = self.prior.sample(count, self.latent, rng)
        classes = None if self.classes is None else rng.integers(0, self.classes, count)
        return self.images(latents, classes), latents, classes

    def _part(self, latents: Latents, classes: NDArray[np.int64] | None) -> ByteImages:
        labels = None if classes is None else torch.from_numpy(np.ascontiguousarray(classes, dtype=np.int64))
        with torch.inference_mode():
            floats = self.network(torch.from_numpy(np.ascontiguousarray(latents, dtype=np.float32)), labels)
            if tuple(floats.shape[1:]) != self.spec.shape:
                raise GeneratorError(
                    f"{self.name} makes images of shape {tuple(floats.shape[1:])}, but its description says "
                    f"{self.spec.shape}: correct the sidecar's image."
                )
            # A sum is much cheaper than a look at each pixel; large pixels alone can make it infinite, too.
            if not torch.isfinite(floats.sum()) and not torch.isfinite(floats).all():
                raise GeneratorError(f"{self.name} makes images that are not finite (NaN): train it again.")
            levels = (floats.clamp(0, 1) * 255).round_().to(torch.uint8)
            return levels.permute(0, 2, 3, 1).contiguous().numpy()

    def _check(self, latents: Latents, classes: NDArray[np.int64] | None) -> None:
        if latents.ndim != 2 or latents.shape[1] != self.latent:
            raise GeneratorError(f"{self.name} takes latents of shape (N, {self.latent}), not {latents.shape}.")
        if (classes is None) != (self.classes is None):
            given, wanted = ("no classes", "needs them") if classes is None else ("classes", "takes none")
            raise GeneratorError(f"{self.name} was given {given}, but {wanted}: see its card.")
        if classes is None or self.classes is None or not len(classes):
            return
        if classes.min() < 0 or classes.max() >= self.classes:
            raise GeneratorError(
                f"{self.name} takes classes 0 to {self.classes - 1}, not {classes.min()} to {classes.max()}."
            )


def load_generator(source: str | os.PathLike[str]) -> Generator:
    """Opens a generator: a folder that `gan train` wrote, or a foreign file with its sidecar.

    Raises:
        GeneratorError: it cannot be opened.
    """
    keep_freed_memory()
    path = Path(source)
    if not path.exists():
        raise GeneratorError(
            f"There is no generator {path}: give a folder that gan train wrote, or a file with a sidecar."
        )
    if not path.is_dir():
        from diffgan.generators.foreign import load_foreign

        return load_foreign(path)
    network, card = read_generator(path)
    return Generator(
        name=path.name,
        latent=card.architecture.latent,
        prior=card.prior,
        classes=card.architecture.classes,
        spec=ImageSpec(*card.architecture.image),
        fingerprint=artifact_fingerprint(path),
        data=card.data.fingerprint,
        source=str(path),
        # Convolutions on a processor are faster when a pixel's channels lie side by side.
        network=brisk(network.to(memory_format=torch.channels_last)),
    )
