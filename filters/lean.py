"""What a search may know of validity as it goes: lean classifiers of the run's own data, trained before it starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffgan.datasets import Dataset
from diffgan.filters.recognisable import KEEP
from diffgan.filters.recogniser import Recogniser, greatest, train_recogniser
from diffgan.images import ByteImages, to_floats
from diffgan.precision import is_brisk, rounded
from diffgan.stats import quantile

Float32s = NDArray[np.float32]

#: Classifiers; images that each sees in training, at least; and how often it sees large data.
MEMBERS, FEWEST_SEEN, TIMES = 2, 57_600, 8
#: Where there are more images than can be tried, they are to be as sure of one as of this share of the real ones.
KEEP_AT_A_GLANCE = 0.90
#: The most images that they are shown at a time, also in bfloat16, and of how many fewer are a multiple.
BLOCK, BLOCK_IN_BFLOAT16, STEP = 96, 480, 32
#: Set apart from the seeds of the filters' own classifiers, which judge afterwards what these let pass.
_SEED = 1_000_003


class LeanRecogniser:
    """Says which images lean classifiers are as sure of as of 95 % of the real images that they never saw.

    Args:
        recogniser: of lean classifiers.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        folded = [member.network.folded() for member in recogniser.members]
        self._networks = [rounded(network) for network in folded]
        self._body, self._decision = rounded(folded[0][:-1]), recogniser.members[0].network.decision
        self._classes = recogniser.members[0].network.outputs
        real = recogniser.held_out.images
        self.threshold = quantile(self.confidence(real), 1 - KEEP)
        self._alone = quantile(self._probabilities(self._networks[0], real).max(axis=1), 1 - KEEP_AT_A_GLANCE)

    def __call__(self, images: ByteImages) -> NDArray[np.bool_]:
        """Which they are sure enough of."""
        sure = np.zeros(len(images), dtype=np.bool_)
        first = self._probabilities(self._networks[0], images)
        rows = np.flatnonzero(self._may(first.max(axis=1, initial=0)))
        sure[rows] = self._joined(first[rows], images[rows]) >= self.threshold
        return sure

    def glance(self, images: ByteImages) -> tuple[NDArray[np.bool_], Float32s]:
        """What the first of the classifiers makes of images, at half the cost.

        Returns:
            Which it is as sure of as of 90 % of the real images, and features of each, N x D.
        """
        features = self._answers(self._body, images, self._decision.in_features)
        with torch.inference_mode():
            sure = self._decision(torch.from_numpy(features)).softmax(dim=1).amax(dim=1).numpy()
        return sure >= self._alone, features

    def confidence(self, images: ByteImages) -> NDArray[np.float64]:
        """The greatest mean probability of each image."""
        return self._joined(self._probabilities(self._networks[0], images), images)

    def _may(self, first: Float32s) -> NDArray[np.bool_]:
        """Whether the mean comes to the threshold if all the others are certain of the same class."""
        others = len(self._networks) - 1
        may: NDArray[np.bool_] = (first + others) / (others + 1) >= self.threshold
        return may

    def _joined(self, first: Float32s, images: ByteImages) -> NDArray[np.float64]:
        """The greatest mean probability, given what the first classifier said."""
        said = [first, *(self._probabilities(network, images) for network in self._networks[1:])]
        return greatest(np.stack(said))

    def _probabilities(self, network: Callable[..., Tensor], images: ByteImages) -> Float32s:
        answers = torch.from_numpy(self._answers(network, images, self._classes))
        said: Float32s = answers.softmax(dim=1).numpy()
        return said

    def _answers(self, network: Callable[..., Tensor], images: ByteImages, outputs: int) -> Float32s:
        # In few sizes: torch compiles a network anew for each number of images that it has not had yet.
        padded = np.concatenate([images, np.zeros((-len(images) % STEP, *images.shape[1:]), dtype=np.uint8)])
        said = np.empty((len(padded), outputs), dtype=np.float32)
        with torch.inference_mode():
            size = BLOCK_IN_BFLOAT16 if is_brisk() else BLOCK
            for start in range(0, len(padded), size):
                block = torch.from_numpy(to_floats(padded[start : start + size])).mul_(2).sub_(1)
                said[start : start + size] = network(block.contiguous(memory_format=torch.channels_last)).numpy()
        return said[: len(images)]


def lean_recogniser(dataset: Dataset, *, report: Callable[[int, int], None] = lambda *_: None) -> LeanRecogniser:
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
