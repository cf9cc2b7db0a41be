"""A small convolutional classifier, trained in seconds on the very data that its features are wanted for.

It needs no download and suits any data with labels: the default extractor. What it sees in training, and what it has
to recognise, comes from a function of the caller's, so that the data can be augmented on the fly.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.fusion import fuse_conv_bn_eval

from diffgan.images import ByteImages, to_floats

#: Features, and channels of the first layer.
FEATURES, WIDTH = 96, 24
#: The same of a lean network.
LEAN_WIDTH = 16
#: Images in one update, and in one call.
BATCH, LARGEST_CALL = 64, 512

#: For row numbers, what to look at (N x C x H x W, [0, 1]) and what to recognise in it (N).
Draw = Callable[[Tensor, torch.Generator], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class LearningSettings:
    """How the classifier is trained.

    Attributes:
        outputs: how many things there are to recognise.
        channels: of an image.
        side: the shorter one, in pixels.
        images: how many there are to draw from.
        updates: steps of the optimiser.
        seed: of weights, order and whatever is drawn.
        lean: a network that is ten times as fast, and a little less often right.
    """

    outputs: int
    channels: int
    side: int
    images: int
    updates: int
    seed: int = 0
    lean: bool = False


class LearnedClassifier:
    """The classifier, ready to use; also an `Extractor`: its features are the layer before its decision.

    Args:
        network: trained, see `train`.
        of_classes: whether it recognises the data's classes; if not, its labels mean nothing outside.
        accuracy: on the images that it was trained on, as they are; None: not known.
    """

    name = "learned"

    def __init__(self, network: Network, *, of_classes: bool, accuracy: float | None = None) -> None:
        self.network = network.eval()
        self.of_classes = of_classes
        self.accuracy = accuracy

    @cached_property
    def identity(self) -> str:
        """The name with a fingerprint of the weights."""
        return f"learned-{weights_fingerprint(self.network.state_dict())}"

    def features(self, images: ByteImages) -> NDArray[np.float32]:
        """N x 96."""
        return self._run(images)[0]

    def probabilities(self, images: ByteImages) -> NDArray[np.float32]:
        """N x outputs."""
        return self._run(images)[1]

    def labels(self, images: ByteImages) -> NDArray[np.int64]:
        """The most probable one of each image."""
        most: NDArray[np.int64] = self.probabilities(images).argmax(axis=1).astype(np.int64)
        return most

    def _run(self, images: ByteImages) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        features = np.empty((len(images), FEATURES), dtype=np.float32)
        probabilities = np.empty((len(images), self.network.outputs), dtype=np.float32)
        with torch.inference_mode():
            for start in range(0, len(images), LARGEST_CALL):
                rows = slice(start, start + LARGEST_CALL)
                seen = self.network.features(torch.from_numpy(to_floats(images[rows])))
                features[rows] = seen.numpy()
                probabilities[rows] = self.network.decision(seen).softmax(dim=1).numpy()
        return features, probabilities


class Network(nn.Module):
    """Convolutions that halve the image down to some 4 to 7 pixels, then a dense layer of features."""

    def __init__(self, settings: LearningSettings) -> None:
        super().__init__()
        self.outputs = settings.outputs
        layers, channels = _lean_layers(settings) if settings.lean else _layers(settings)
        self.body = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(4), nn.Flatten())
        self.last = nn.Linear(16 * channels, FEATURES)
        self.decision = nn.Linear(FEATURES, settings.outputs)

    def features(self, images: Tensor) -> Tensor:
        """N x 96 for N x C x H x W in [0, 1]."""
        seen: Tensor = functional.relu(self.last(self.body(2 * images - 1)))
        return seen

    def folded(self) -> nn.Sequential:
        """The same network, up to rounding, and faster: no normalisation of its own, a pixel's channels side by side.

        It takes what `forward` takes, scaled to [-1, 1].
        """
        folded = list[nn.Module]()
        for layer in self.body:
            if isinstance(layer, nn.BatchNorm2d) and isinstance(folded[-1], nn.Conv2d):
                folded[-1] = fuse_conv_bn_eval(folded[-1], layer)
            else:
                folded.append(layer)
        whole = nn.Sequential(*folded, self.last, nn.ReLU(), self.decision).eval()
        return whole.to(memory_format=torch.channels_last)

    def forward(self, images: Tensor) -> Tensor:
        """Logits."""
        logits: Tensor = self.decision(self.features(images))
        return logits


def _layers(settings: LearningSettings) -> tuple[list[nn.Module], int]:
    layers, channels, width, side = list[nn.Module](), settings.channels, WIDTH, settings.side
    while True:
        layers += [nn.Conv2d(channels, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
        channels = width
        if side < 8:
            return layers, channels
        layers.append(nn.MaxPool2d(2))
        side, width = side // 2, min(2 * width, 96)


def _lean_layers(settings: LearningSettings) -> tuple[list[nn.Module], int]:
    """Every convolution halves the image; the first looks at more of it."""
    layers, channels, width, side = list[nn.Module](), settings.channels, LEAN_WIDTH, settings.side
    reach = 2
    while True:
        convolution = nn.Conv2d(channels, width, 2 * reach + 1, stride=2, padding=reach, bias=False)
        layers += [convolution, nn.BatchNorm2d(width), nn.ReLU()]
        channels, side, width, reach = width, side // 2, min(2 * width, 64), 1
        if side < 8:
            return layers, channels


def train(settings: LearningSettings, draw: Draw, *, report: Callable[[int, int], None] = lambda *_: None) -> Network:
    """A trained network; the same from the same seed, and torch's own random state is put back.

    Args:
        settings: its size and its training.
        draw: what to look at, and what to recognise.
        report: called with the updates done and their number.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(settings.seed)
        network = Network(settings).train()
    generator = torch.Generator().manual_seed(settings.seed)
    optimiser = torch.optim.AdamW(network.parameters(), lr=3e-3, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, max_lr=3e-3, total_steps=settings.updates)
    order = torch.empty(0, dtype=torch.int64)
    for number in range(settings.updates):
        while len(order) < BATCH:
            order = torch.cat([order, torch.randperm(settings.images, generator=generator)])
        rows, order = order[:BATCH], order[BATCH:]
        images, wanted = draw(rows, generator)
        loss = functional.cross_entropy(network(images), wanted)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        schedule.step()
        report(number + 1, settings.updates)
    return network.eval()


def weights_fingerprint(tensors: Mapping[str, Tensor]) -> str:
    """Eight hex digits that differ where a name or a value does."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode())
        digest.update(np.ascontiguousarray(tensors[name].detach().cpu().numpy()).tobytes())
    return digest.hexdigest()[:8]
