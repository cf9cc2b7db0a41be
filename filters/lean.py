"""What a search may know of validity as it goes: lean classifiers of the run's own data, trained before it starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from diffgan.datasets import Dataset
from diffgan.filters.recognisable import KEEP
from diffgan.filters.recogniser import Recogniser, train_recogniser
from diffgan.images import ByteImages, to_floats
from diffgan.stats import quantile

#: Classifiers; images that each sees in training, at least; and how often it sees large data.
MEMBERS, FEWEST_SEEN, TIMES = 2, 57_600, 8
#: Images that they are shown at a time.
BLOCK = 256
#: Set apart from the seeds of the filters' own classifiers, which judge afterwards what these let pass.
_SEED = 1_000_003


class LeanRecogniser:
    """Says which images lean classifiers are as sure of as of 95 % of the real images that they never saw.

    Args:
        recogniser: of lean classifiers.
    """

    def __init__(self, recogniser: Recogniser) -> None:
        self._networks = [member.network.folded() for member in recogniser.members]
        self.threshold = quantile(self.confidence(recogniser.held_out.images), 1 - KEEP)

    def __call__(self, images: ByteImages) -> NDArray[np.bool_]:
        """Which they are sure enough of."""
        sure: NDArray[np.bool_] = self.confidence(images) >= self.threshold
        return sure

    def confidence(self, images: ByteImages) -> NDArray[np.float64]:
        """The greatest mean probability of each image."""
        # Always as many at a time: torch compiles a network anew for each number of images that it has not had yet.
        padded = np.concatenate([images, np.zeros((-len(images) % BLOCK, *images.shape[1:]), dtype=np.uint8)])
        blocks = [self._block(padded[start : start + BLOCK]) for start in range(0, len(images), BLOCK)]
        return np.concatenate([np.empty(0), *blocks])[: len(images)]

    def _block(self, images: ByteImages) -> NDArray[np.float64]:
        with torch.inference_mode():
            shown = torch.from_numpy(to_floats(images)).mul_(2).sub_(1).contiguous(memory_format=torch.channels_last)
            said = torch.stack([network(shown).softmax(dim=1) for network in self._networks])
            return said.mean(dim=0).amax(dim=1).double().numpy()


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
