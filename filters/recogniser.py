"""A few small classifiers, trained in seconds on the run's own data: are they sure of what an image shows?

They learn smoothed labels, so that how sure they are says something, and only most of the data: what is held out says
how sure they are of real images. Every other one sees the images as they are, the rest see them shifted: members that
differ judge better than ones that are alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from diffgan.datasets import Dataset
from diffgan.errors import DataError
from diffgan.features.learned import BATCH, Draw, LearnedClassifier, LearningSettings, train
from diffgan.features.learned_cache import cache_name, read_learned, write_learned
from diffgan.features.shifts import SHIFT, shifted_copies
from diffgan.images import ByteImages

#: Classifiers, and what the wrong classes share of each label that they learn.
MEMBERS, SMOOTHING = 5, 0.1
#: One of so many images is of one grey all over instead, and of no class: a classifier is sure of such ones otherwise.
ONE_IS_BLANK_OF = 16
#: Images that each sees in training: so many at least, and large data so many times.
FEWEST_SEEN, TIMES = 28_800, 3
#: Held out is every 20th image, but at least 100, and at most every second.
HELD_OUT_STEP, FEWEST_HELD_OUT = 20, 100
#: Data must have so many images, and the first member be right about this share of those held out, or none can judge.
FEWEST, FEWEST_RIGHT = 200, 0.8
_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Recogniser:
    """Classifiers, with the real images that none of them saw.

    Attributes:
        members: the classifiers.
        held_out: real images with their labels.
    """

    members: tuple[LearnedClassifier, ...]
    held_out: Dataset

    @property
    def identity(self) -> str:
        """Of all weights."""
        return "+".join(member.identity for member in self.members)

    def probabilities(self, images: ByteImages) -> NDArray[np.float32]:
        """What each member says of each image: members x N x classes."""
        return np.stack([member.probabilities(images) for member in self.members])

    def confidence(self, images: ByteImages) -> NDArray[np.float64]:
        """The greatest mean probability of each image."""
        blocks = [images[start : start + _BLOCK] for start in range(0, len(images), _BLOCK)]
        return np.concatenate([np.empty(0), *(greatest(self.probabilities(block)) for block in blocks)])

    def accuracy(self) -> float:
        """The share of what was held out that the mean probability is right about."""
        said = self.probabilities(self.held_out.images).mean(axis=0).argmax(axis=1)
        return float(np.mean(said == self.held_out.labels))


def greatest(probabilities: NDArray[np.float32]) -> NDArray[np.float64]:
    """The greatest mean probability, of members x N x classes."""
    most: NDArray[np.float64] = probabilities.mean(axis=0, dtype=np.float64).max(axis=1)
    return most


def train_recogniser(
    dataset: Dataset,
    *,
    members: int = MEMBERS,
    fewest_seen: int = FEWEST_SEEN,
    times: int = TIMES,
    lean: bool = False,
    seed: int = 0,
    report: Callable[[int, int], None] = lambda *_: None,
) -> Recogniser:
    """The recogniser of some data, from the cache where it is there, else trained and cached.

    Args:
        dataset: labelled images.
        members: how many classifiers.
        fewest_seen: images that each goes through in training, at least.
        times: how often each sees large data.
        lean: much faster classifiers, for a search that asks them by the thousand a second.
        seed: of the training, and of what is held out.
        report: called with the updates done and their number.

    Raises:
        DataError: there are too few images or classes, or a classifier is wrong too often to judge anything.
    """
    _check(dataset)
    held_out = hold_out(dataset.labels, seed)
    seen = dataset.part(dataset.name, np.setdiff1d(np.arange(len(dataset)), held_out))
    updates = max(fewest_seen, times * len(seen)) // BATCH
    recogniser = Recogniser((), dataset.part(dataset.name, held_out))
    for member in range(members):
        settings = LearningSettings(
            outputs=len(dataset.classes),
            channels=dataset.spec.channels,
            side=min(dataset.spec.height, dataset.spec.width),
            images=len(seen),
            updates=updates,
            seed=members * seed + member,
            lean=lean,
        )
        progress = _part_of(report, done=member * updates, total=members * updates)
        made = _member(dataset.fingerprint, seen, settings, shifted=member % 2 == 0, report=progress)
        recogniser = replace(recogniser, members=(*recogniser.members, made))
        if member == 0:
            _check_accuracy(recogniser)
    return recogniser


def hold_out(labels: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Rows that no member sees: a seeded share of every class."""
    step = max(2, min(HELD_OUT_STEP, len(labels) // FEWEST_HELD_OUT))
    order = np.lexsort((np.random.default_rng((seed, 1)).random(len(labels)), labels))
    return np.sort(order[step // 2 :: step])


def _check(dataset: Dataset) -> None:
    classes = int((dataset.counts() > 0).sum())
    if len(dataset) < FEWEST or classes < 2:
        raise DataError(
            f"{dataset.name} has {len(dataset)} images of {classes} classes; to tell what is recognisable takes "
            f"{FEWEST} images of 2 classes or more: give more, or do without the recognisable filter."
        )


def _check_accuracy(recogniser: Recogniser) -> None:
    right = recogniser.accuracy()
    if right < FEWEST_RIGHT:
        raise DataError(
            f"A small classifier is right about {right:.0%} of the images of {recogniser.held_out.name} that it did "
            f"not see, and can judge triggers from {FEWEST_RIGHT:.0%} on: do without the recognisable filter, or give "
            "more images."
        )


def _part_of(report: Callable[[int, int], None], *, done: int, total: int) -> Callable[[int, int], None]:
    return lambda now, _: report(done + now, total)


def _member(
    data: str, seen: Dataset, settings: LearningSettings, *, shifted: bool, report: Callable[[int, int], None]
) -> LearnedClassifier:
    changes = f"recogniser smoothing={SMOOTHING} shift={SHIFT if shifted else 0} blank={ONE_IS_BLANK_OF}"
    name = cache_name(data, settings, changes)
    found = read_learned(name, settings, of_classes=True)
    if found is not None:
        return found
    made = LearnedClassifier(train(settings, _draw(seen, shifted=shifted), report=report), of_classes=True)
    write_learned(name, made)
    return made


def _draw(seen: Dataset, *, shifted: bool) -> Draw:
    images, labels = torch.from_numpy(seen.floats()), torch.from_numpy(seen.labels)
    classes = len(seen.classes)

    def draw(rows: Tensor, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        shown = images[rows]
        wanted = functional.one_hot(labels[rows], classes).float().lerp(torch.tensor(1 / classes), SMOOTHING)
        if shifted:
            shown = shifted_copies(shown, generator)
        blank = len(rows) // ONE_IS_BLANK_OF
        shown[:blank] = torch.rand(blank, 1, 1, 1, generator=generator)
        wanted[:blank] = 1 / classes
        return shown, wanted

    return draw
