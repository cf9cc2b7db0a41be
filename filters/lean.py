"""What a search may know of validity as it goes: lean classifiers of the run's own data, trained before it starts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from diffgan.datasets import Dataset
from diffgan.filters.recognisable import RecognisableFilter
from diffgan.filters.recogniser import train_recogniser
from diffgan.images import ByteImages

#: Classifiers; images that each sees in training, at least; and how often it sees large data.
MEMBERS, FEWEST_SEEN, TIMES = 2, 57_600, 8
#: Images that they are shown at a time.
BLOCK = 128
#: Set apart from the seeds of the filters' own classifiers, which judge afterwards what these let pass.
_SEED = 1_000_003


def lean_recogniser(
    dataset: Dataset, *, report: Callable[[int, int], None] = lambda *_: None
) -> Callable[[ByteImages], NDArray[np.bool_]]:
    """Says which images the classifiers are as sure of as of 95 % of the real images that they never saw.

    Args:
        dataset: labelled images.
        report: called with the updates of the training done and their number.

    Raises:
        DataError: there are too few images or classes, or a classifier is wrong too often to judge anything.
    """
    recogniser = train_recogniser(
        dataset, members=MEMBERS, fewest_seen=FEWEST_SEEN, times=TIMES, lean=True, seed=_SEED, report=report
    )
    threshold = RecognisableFilter.calibrated(recogniser).threshold

    def recognises(images: ByteImages) -> NDArray[np.bool_]:
        # Always as many at a time: torch compiles a network anew for each number of images that it has not had yet.
        count = len(images)
        padded = np.concatenate([images, np.zeros((-count % BLOCK, *images.shape[1:]), dtype=np.uint8)])
        sure = [recogniser.confidence(padded[start : start + BLOCK]) for start in range(0, count, BLOCK)]
        return np.concatenate([np.empty(0), *sure])[:count] >= threshold

    return recognises
