"""What the forest sees of an image. No model of the pair is asked for it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from diffgan.errors import ModelError, UsageError
from diffgan.features.learned import LearnedClassifier
from diffgan.images import ByteImages
from diffgan.selection.networks import MEMBERS, NetworkShape, read_networks

Float32s = NDArray[np.float32]

NAMES = ("mimic", "learned", "vgg16", "pixels")
DEFAULT = "mimic"

#: In a selector's folder.
MIMIC_FILE, LEARNED_FILE = "mimic.safetensors", "learned.safetensors"


class Features(Protocol):
    """Turns images into vectors."""

    @property
    def name(self) -> str:
        """One of `NAMES`."""
        ...

    @property
    def identity(self) -> str:
        """The name with a fingerprint of what makes them."""
        ...

    def features(self, images: ByteImages) -> Float32s:
        """N x F for images (uint8, N x H x W x C)."""
        ...


class ShapeFacts(BaseModel):
    """A `NetworkShape` in the card, within bounds."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    outputs: int = Field(ge=1, le=1_000_000)
    channels: int = Field(ge=1, le=3)
    side: int = Field(ge=1, le=65_536)

    @classmethod
    def of(cls, shape: NetworkShape) -> ShapeFacts:
        """As files hold it."""
        return cls(**asdict(shape))

    def shape(self) -> NetworkShape:
        """As networks take it."""
        return NetworkShape(self.outputs, self.channels, self.side)


class FeatureFacts(BaseModel):
    """What the card says of the features.

    Attributes:
        name: one of `NAMES`.
        identity: the name with a fingerprint of what makes them.
        network: the shape of mimic's networks, which lie in the folder.
        weights: of vgg16: the file, or None for torchvision's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    identity: str
    network: ShapeFacts | None = None
    weights: str | None = None


class Pixels:
    """The pixels as they are, from 0 to 1."""

    name = "pixels"
    identity = "pixels"

    def features(self, images: ByteImages) -> Float32s:
        """N x H W C."""
        values: Float32s = images.reshape(len(images), -1).astype(np.float32) / np.float32(255)
        return values


class Mimic:
    """How what small networks take for the class, for A's answer and for B's agree; and the `learned` features.

    Either alone chooses worse: the agreement knows no shapes, and the shapes do not know what the models would answer.

    Args:
        networks: each with 3 K outputs, see `diffgan.selection.networks.train_mimic`.
        learned: the classifier of the data's classes.
    """

    name = "mimic"

    def __init__(self, networks: Sequence[LearnedClassifier], learned: LearnedClassifier) -> None:
        self.networks = tuple(networks)
        self.learned = learned

    @property
    def identity(self) -> str:
        """Of all weights."""
        parts = (*self.networks, self.learned)
        return "-".join([self.name, *(network.identity.removeprefix("learned-") for network in parts)])

    def features(self, images: ByteImages) -> Float32s:
        """N x (16 + 96)."""
        answers = [np.stack(thirds(network.probabilities(images))) for network in self.networks]
        truth, a, b = np.mean(answers, axis=0)
        return np.concatenate([agreement(truth, a, b), self.learned.features(images)], axis=1)


def thirds(probabilities: Float32s) -> tuple[Float32s, Float32s, Float32s]:
    """Outputs (N x 3 K) as three answers (N x K), each of which adds up to one.

    Example:
        >>> import numpy as np
        >>> [part.tolist() for part in thirds(np.array([[0.25, 0.25, 0.125, 0.125, 0.25, 0]], dtype=np.float32))]
        [[[0.5, 0.5]], [[0.5, 0.5]], [[1.0, 0.0]]]
    """
    answers = probabilities.reshape(len(probabilities), 3, -1)
    total = answers.sum(axis=2, keepdims=True)
    answers = answers / np.maximum(total, np.float32(1e-12))
    return answers[:, 0], answers[:, 1], answers[:, 2]


def agreement(truth: Float32s, a: Float32s, b: Float32s) -> Float32s:
    """How three answers (N x K) agree, in 16 numbers that do not depend on which classes they are, or how many.

    The chance that two of them name the same class; what each gives to the class that another is for; how sure each is;
    and by how much the truth is nearer to B's answer than to A's, in four ways.
    """
    rows = np.arange(len(truth))
    best_truth, best_a, best_b = truth.argmax(axis=1), a.argmax(axis=1), b.argmax(axis=1)
    with_a, with_b = (truth * a).sum(axis=1), (truth * b).sum(axis=1)
    for_a, for_b = truth[rows, best_a], truth[rows, best_b]
    columns = [
        *(with_a, with_b, (a * b).sum(axis=1)),
        *(for_a, for_b, a[rows, best_truth], b[rows, best_truth], a[rows, best_b], b[rows, best_a]),
        *(truth.max(axis=1), a.max(axis=1), b.max(axis=1)),
        *(with_b - with_a, for_b - for_a, _log_ratio(with_b, with_a), _log_ratio(for_b, for_a)),
    ]
    return np.stack(columns, axis=1).astype(np.float32)


def _log_ratio(first: Float32s, second: Float32s) -> Float32s:
    """Bounded: below one in 10,000, a chance is none."""
    ratio: Float32s = np.log((first + np.float32(1e-4)) / (second + np.float32(1e-4)))
    return ratio


def check_name(name: str, weights: Path | None) -> None:
    """Makes certain that there are such features, and that a file of weights makes sense for them.

    Raises:
        UsageError: there are none, or they take no file.
    """
    if name not in NAMES:
        raise UsageError(f"There are no features {name!r}; expected one of {', '.join(NAMES)}.")
    if weights is not None and name != "vgg16":
        raise UsageError(f"--weights is a file for the features vgg16; {name} takes none: leave it out.")


def open_features(facts: FeatureFacts, folder: Path, learned: LearnedClassifier, *, weights: Path | None) -> Features:
    """The very features of a selector.

    Args:
        facts: from its card.
        folder: the selector's.
        learned: its classifier of the data's classes.
        weights: of vgg16, where the file has moved.

    Raises:
        DiffganError: what makes them is missing, damaged, or other than it was.
    """
    check_name(facts.name, weights)
    made = _open(facts, folder, learned, weights)
    if made.identity != facts.identity:
        raise ModelError(
            f"The features of the selector in {folder} are {facts.identity}, but what is there makes {made.identity}: "
            "bring back the same weights, or train the selector again."
        )
    return made


def _open(facts: FeatureFacts, folder: Path, learned: LearnedClassifier, weights: Path | None) -> Features:
    if facts.name == "pixels":
        return Pixels()
    if facts.name == "learned":
        return learned
    if facts.name == "vgg16":
        from diffgan.features.vgg16 import open_vgg16

        known = None if facts.weights is None else Path(facts.weights)
        return open_vgg16(weights or known)
    if facts.network is None:
        raise ModelError(f"The card in {folder} does not say what mimic's network is: copy the folder again.")
    shape = facts.network.shape()
    return Mimic(read_networks(folder / MIMIC_FILE, shape, count=MEMBERS, of_classes=False), learned)
