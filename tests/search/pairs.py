"""Two tiny models that disagree on some images, and a generator of noise: everything real, nothing slow."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffgan.generators.generator import Generator
from diffgan.generators.priors import UniformPrior
from diffgan.images import FloatImages, ImageSpec
from diffgan.models import Classifier, load_classifier

SPEC = ImageSpec(1, 8, 8)
CLASSES = 4


def linear(seed: int, noise: float = 0.0) -> Callable[[FloatImages], NDArray[np.float32]]:
    """A softmax of a random projection; `noise` moves it away from the one of seed 0."""
    weights = np.random.default_rng(0).normal(size=(64, CLASSES))
    weights = weights + noise * np.random.default_rng(seed).normal(size=weights.shape)

    def predict(images: FloatImages) -> NDArray[np.float32]:
        logits = images.reshape(len(images), -1) @ weights
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(powers / powers.sum(axis=1, keepdims=True), dtype=np.float32)

    return predict


def pair(noise: float = 0.3) -> tuple[Classifier, Classifier]:
    """Two models that differ on some of the generator's images, or on none without noise."""
    return (
        load_classifier(linear(1), spec=SPEC, name="first"),
        load_classifier(linear(2, noise), spec=SPEC, name="second"),
    )


def generator(classes: int | None = None) -> Generator:
    """Smooth images from six genes."""
    mixing = torch.from_numpy(np.random.default_rng(5).normal(size=(6, 64)).astype(np.float32))

    def network(latents: Tensor, labels: Tensor | None) -> Tensor:
        shift = 0.0 if labels is None else 0.1 * labels[:, None].float()
        return torch.sigmoid(latents @ mixing + shift).reshape(-1, 1, 8, 8)

    return Generator(
        name="noise",
        latent=6,
        prior=UniformPrior(),
        classes=classes,
        spec=SPEC,
        fingerprint="noise",
        data=None,
        network=network,
    )
