"""What a search may know of validity as it goes: lean classifiers of the run's own data, trained before it starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from diffgan.datasets import Dataset
from diffgan.filters.recognisable import KEEP
from diffgan.filters.recogniser import Recogniser, greatest, train_recogniser
from diffgan.images import ByteImages, to_floats
from diffgan.stats import quantile

Float32s = NDArray[np.float32]

#: Classifiers; images that each sees in training, at least; and how often it sees large data.
MEMBERS, FEWEST_SEEN, TIMES = 2, 57_600, 8
#: The most images that they are shown at a time, and of how many fewer are a multiple.
BLOCK, STEP = 96, 32
#: Set apart from the seeds of the filters' own classifiers, which judge afterwards what these let pass.
_SEED = 1_000_003


class LeanRecogniser:
    """Says which images lean classifiers are as sure of as of 95 % of the real images that they never saw.

    Args:
        recogniser: of lean classifiers.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        self._networks = [member.network.folded() for member in recogniser.members]
        self._classes = recogniser.members[0].network.outputs
        self.threshold = quantile(self.confidence(recogniser.held_out.images), 1 - KEEP)

    def __call__(self, images: ByteImages) -> NDArray[np.bool_]:
        """Which they are sure enough of."""
        sure = np.zeros(len(images), dtype=np.bool_)
        first = self._probabilities(self._networks[0], images)
        # Were all the others certain of the same class, the mean would come to this: most images need no second look.
        others = len(self._networks) - 1
        rows = np.flatnonzero((first.max(axis=1, initial=0) + others) / (others + 1) >= self.threshold)
        sure[rows] = self._joined(first[rows], images[rows]) >= self.threshold
        return sure

    def confidence(self, images: ByteImages) -> NDArray[np.float64]:
        """The greatest mean probability of each image."""
        return self._joined(self._probabilities(self._networks[0], images), images)

    def _joined(self, first: Float32s, images: ByteImages) -> NDArray[np.float64]:
        """The greatest mean probability, given what the first classifier said."""
        said = [first, *(self._probabilities(network, images) for network in self._networks[1:])]
        return greatest(np.stack(said))

    def _probabilities(self, network: nn.Sequential, images: ByteImages) -> Float32s:
        # In few sizes: torch compiles a network anew for each number of images that it has not had yet.
        padded = np.concatenate([images, np.zeros((-len(images) % STEP, *images.shape[1:]), dtype=np.uint8)])
        said = np.empty((len(padded), self._classes), dtype=np.float32)
        with torch.inference_mode():
            for start in range(0, len(padded), BLOCK):
                block = torch.from_numpy(to_floats(padded[start : start + BLOCK])).mul_(2).sub_(1)
                shown = block.contiguous(memory_format=torch.channels_last)
                said[start : start + BLOCK] = network(shown).softmax(dim=1).numpy()
        return said[: len(images)]


def lean_recogniser(
    dataset: Dataset, *, report: Callable[[int, int], None] = lambda *_: None
) -> Callable[[ByteImages], NDArray[np.bool_]]:
    """Trains it, or takes it from the cache.

    Args:
        dataset: labelled images.
        report: called with the updates of the training done and their number.

    Raises:
        DataError: there are too few images or classes, or a classifier is wrong too often to judge anything.
    """
    return LeanRecogniser(
        train_recogniser(
            dataset, members=MEMBERS, fewest_seen=FEWEST_SEEN, times=TIMES, lean=True, seed=_SEED, report=report
        )
    )
