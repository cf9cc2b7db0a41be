"""The augmented data as a stream of batches: six times the images, in an order that a seed fixes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffgan.datasets import Dataset
from diffgan.errors import GeneratorError
from diffgan.gan_training.augmentation import COPIES, AugmentationSettings, Augmenter

#: Fewer images than this do not make a GAN.
FEWEST = 200

HELD_OUT_SHARE, FEWEST_HELD_OUT = 0.05, 100


def hold_out(labels: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Rows kept away from training, for calibration: 5 % and at least 100, of every class its share, seeded.

    Raises:
        GeneratorError: there are too few images to train on.
    """
    count = len(labels)
    if count < FEWEST:
        raise GeneratorError(f"The data has {count} images; a GAN needs at least {FEWEST}: give more.")
    wanted = min(max(FEWEST_HELD_OUT, round(HELD_OUT_SHARE * count)), count // 2)
    rng = np.random.default_rng((seed, 1))
    # In a random order within each class, spread evenly over all: the first rows of it are stratified.
    order = rng.permutation(count)
    place = np.empty(count)
    for label in np.unique(labels):
        members = order[labels[order] == label]
        place[members] = (np.arange(len(members)) + rng.random()) / len(members)
    return np.sort(np.argsort(place, kind="stable")[:wanted])


@dataclass(frozen=True)
class TrainingData:
    """What a GAN is trained on.

    Attributes:
        images: floats in [0, 1], N x C x H x W.
        labels: N.
        held_out: rows of the dataset that are not in it.
    """

    images: Tensor
    labels: Tensor
    held_out: tuple[int, ...]

    @classmethod
    def of(cls, dataset: Dataset, seed: int) -> TrainingData:
        """The dataset less what is held out."""
        held_out = hold_out(dataset.labels, seed)
        kept = np.setdiff1d(np.arange(len(dataset)), held_out)
        part = dataset.part(dataset.name, kept)
        return cls(torch.from_numpy(part.floats()), torch.from_numpy(part.labels), tuple(held_out.tolist()))

    def __len__(self) -> int:
        return COPIES * len(self.images)


class Batches:
    """Batches of augmented images; which images a batch holds depends on the seed and its number alone."""

    def __init__(
        self, data: TrainingData, settings: AugmentationSettings, *, size: int, seed: int, generator: torch.Generator
    ) -> None:
        self._data = data
        self._size = size
        self._seed = seed
        self._augment = Augmenter(settings, generator)
        self._epoch = -1
        self._order = torch.empty(0, dtype=torch.int64)

    def batch(self, number: int) -> tuple[Tensor, Tensor]:
        """The images and labels of a batch; parameters of the augmentation are drawn anew."""
        places = torch.arange(number * self._size, (number + 1) * self._size)
        items = torch.cat(
            [
                self._of_epoch(int(epoch))[places[places // len(self._data) == epoch] % len(self._data)]
                for epoch in torch.unique(places // len(self._data))
            ]
        )
        rows, copies = items // COPIES, items % COPIES
        return self._augment(self._data.images[rows], copies), self._data.labels[rows]

    def _of_epoch(self, epoch: int) -> Tensor:
        if epoch != self._epoch:
            (mixed,) = np.random.SeedSequence((self._seed, epoch)).generate_state(1)
            generator = torch.Generator().manual_seed(int(mixed))
            self._order = torch.randperm(len(self._data), generator=generator)
            self._epoch = epoch
        return self._order
