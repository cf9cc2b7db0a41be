"""The networks themselves: generators give float images in [0, 1], discriminators one unbounded score an image."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import spectral_norm

from diffgan.generators.architecture import Architecture
from diffgan.generators.cbn import ClassBatchNorm
from diffgan.generators.thin import DoublingConvolution, ThinConvolution

#: The discriminator halves maps until they have at most so many pixels a side, and takes fewer than so many halvings
#: for too few.
SMALLEST_MAP, FEW_HALVINGS = 4, 3


class ConvolutionalGenerator(nn.Module):
    """From latents through feature maps that double in size; the class sets scale and shift of each.

    The last layer writes a block of `patch` by `patch` pixels for each place of the last map. Where that leaves no
    doubling, one convolution of the first map takes its place.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        doublings = architecture.doublings - (architecture.patch - 1).bit_length()
        widths = [architecture.width * 2**step for step in range(doublings, -1, -1)]
        self.first_side, self.side = architecture.first_side, architecture.side
        self.first = nn.Linear(architecture.latent, widths[0] * self.first_side**2, bias=False)
        if doublings:
            layers: list[nn.Module] = [DoublingConvolution(before, after) for before, after in pairwise(widths)]
        else:
            widths *= 2
            layers = [nn.Conv2d(widths[0], widths[0], 3, padding=1, bias=False)]
        self.growing = nn.ModuleList(layers)
        self.norms = nn.ModuleList(ClassBatchNorm(width, architecture.classes) for width in widths)
        self.last = ThinConvolution(widths[-1], architecture.image[0] * architecture.patch**2)
        self.patch = architecture.patch

    def forward(self, latents: Tensor, labels: Tensor | None = None) -> Tensor:
        """Images, N x C x H x W."""
        hidden = self.first(latents).unflatten(1, (-1, self.first_side, self.first_side))
        hidden = functional.relu_(self.norms[0](hidden, labels))
        for grow, norm in zip(self.growing, list(self.norms)[1:], strict=True):
            hidden = functional.relu_(norm(grow(hidden), labels))
        images = functional.pixel_shuffle(self.last(hidden), self.patch)
        extra = images.shape[-1] - self.side
        if extra:
            images = images[..., extra // 2 : extra // 2 + self.side, extra // 2 : extra // 2 + self.side]
        return torch.sigmoid(2 * images)


class ConvolutionalDiscriminator(nn.Module):
    """Spectrally normalised convolutions that halve, down to 4 pixels or less; the class joins by projection.

    The score is linear in the last map as it is, place by place, which trains faster than its sum over places does.
    """

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        width, channels, side = (
            architecture.discriminator_width or architecture.width,
            architecture.image[0],
            architecture.side,
        )
        halving: list[nn.Module] = []
        while side > SMALLEST_MAP:
            halving.append(spectral_norm(nn.Conv2d(channels, width, 4, stride=2, padding=1)))
            channels, width, side = width, 2 * width, side // 2
        self.halving = nn.ModuleList(halving)
        # Small images are halved too seldom to be understood: they get one more convolution.
        few = len(halving) < FEW_HALVINGS
        self.mixing = spectral_norm(nn.Conv2d(channels, width, 3, padding=1)) if few else None
        self.side = side
        count = (width if few else channels) * side**2
        self.score = spectral_norm(nn.Linear(count, 1))
        self.classes = architecture.classes
        self.per_class = spectral_norm(nn.Embedding(architecture.classes, count)) if architecture.classes else None

    def forward(self, images: Tensor, labels: Tensor | None = None) -> Tensor:
        """Scores, N."""
        return self.scored(self.features(images), labels)

    def features(self, images: Tensor) -> Tensor:
        """What the score is linear in, N x F."""
        hidden = 2 * images - 1
        for halve in self.halving:
            hidden = functional.leaky_relu(halve(hidden), 0.1)
        if self.mixing is not None:
            hidden = functional.leaky_relu(self.mixing(hidden), 0.1)
        return hidden.flatten(1) / self.side

    def scored(self, features: Tensor, labels: Tensor | None) -> Tensor:
        """Scores from features; without labels, a conditional network's greatest over all classes."""
        base: Tensor = self.score(features).squeeze(1)
        if self.per_class is None:
            return base
        if labels is None:
            every: Tensor = features @ self.per_class(torch.arange(self.classes or 0, device=features.device)).T
            return base + every.amax(dim=1)
        chosen: Tensor = (self.per_class(labels) * features).sum(dim=1)
        return base + chosen


class DenseGenerator(nn.Module):
    """The reference's generator: three widening dense layers; the class joins the latent as one-hot."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.classes, self.image = architecture.classes, architecture.image
        widths = [4 * architecture.width * 2**step for step in range(3)]
        sizes = [architecture.latent + (architecture.classes or 0), *widths]
        layers: list[nn.Module] = []
        for before, after in zip(sizes, widths, strict=False):
            layers += [nn.Linear(before, after), nn.LeakyReLU(0.2)]
        channels, height, width = architecture.image
        self.layers = nn.Sequential(*layers, nn.Linear(widths[-1], channels * height * width))

    def forward(self, latents: Tensor, labels: Tensor | None = None) -> Tensor:
        """Images, N x C x H x W."""
        pixels: Tensor = self.layers(_joined(latents, labels, self.classes))
        return torch.sigmoid(2 * pixels).reshape(len(pixels), *self.image)


class DenseDiscriminator(nn.Module):
    """The reference's discriminator, without its sigmoid; the class joins the pixels as one-hot."""

    def __init__(self, architecture: Architecture) -> None:
        super().__init__()
        self.classes = architecture.classes
        width = 4 * (architecture.discriminator_width or architecture.width)
        channels, height, side = architecture.image
        sizes = [channels * height * side + (architecture.classes or 0), 8 * width, 4 * width, 2 * width]
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers += [spectral_norm(nn.Linear(before, after)), nn.LeakyReLU(0.2), nn.Dropout(0.3)]
        self.layers = nn.Sequential(*layers[:-1], spectral_norm(nn.Linear(sizes[-1], 1)))

    def forward(self, images: Tensor, labels: Tensor | None = None) -> Tensor:
        """Scores, N; without labels, a conditional network's greatest over all classes."""
        flat = (2 * images - 1).flatten(1)
        if self.classes is None or labels is not None:
            return self._score(flat, labels)
        each = [self._score(flat, torch.full((len(flat),), label)) for label in range(self.classes)]
        return torch.stack(each).amax(dim=0)

    def _score(self, flat: Tensor, labels: Tensor | None) -> Tensor:
        scores: Tensor = self.layers(_joined(flat, labels, self.classes))
        return scores.squeeze(1)


def _joined(vectors: Tensor, labels: Tensor | None, classes: int | None) -> Tensor:
    if classes is None:
        return vectors
    if labels is None:
        raise ValueError("a conditional network needs a label for each row")
    return torch.cat([vectors, functional.one_hot(labels, classes).to(vectors.dtype)], dim=1)


def build_generator(architecture: Architecture) -> nn.Module:
    """A generator with fresh weights, from torch's current random state."""
    return {"dcgan": ConvolutionalGenerator, "mlp": DenseGenerator}[architecture.kind](architecture)


def build_discriminator(architecture: Architecture) -> nn.Module:
    """A discriminator with fresh weights, from torch's current random state."""
    return {"dcgan": ConvolutionalDiscriminator, "mlp": DenseDiscriminator}[architecture.kind](architecture)
