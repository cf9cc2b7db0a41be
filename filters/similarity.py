"""The SSIM filter: a trigger passes that is like some real image.

Comparing each trigger with each reference would take hours: a shortlist comes first, by one matrix product, and the
exact SSIM with those on it decides. Where the best one does not stand near its top, or what the list was made by is
far off, the list is made longer.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from diffgan.errors import DataError, UsageError
from diffgan.filters.patterns import Float32s, Patterns, padded
from diffgan.filters.protocol import Candidates, Scores
from diffgan.filters.ssim import Planes, check_window, ssim_of_planes, to_planes
from diffgan.images import ByteImages, ImageSpec
from diffgan.system import available_cores, keep_freed_memory

THRESHOLD = 0.40

#: Candidates that each image is compared with, and where that may not be enough.
_LISTS = (256, 1024, 4096)
#: The best of a list must stand in this first part of it, and have this share of the SSIM that it was chosen for.
_NEAR_TOP, _NEAR_SCORE = 0.25, 0.5
#: Images at a time, of one thread, and products with the references at most.
_BLOCK, _BLOCK_PRODUCTS = 64, 1 << 23
#: Where the scores depend on how they are found: raised when that changes.
_VERSION = 1


@dataclass(frozen=True, eq=False)
class Similar:
    """The most similar reference of each of N images.

    Attributes:
        scores: their SSIM.
        places: which reference it is.
    """

    scores: Scores
    places: NDArray[np.int64]


class MostSimilar:
    """Finds, for any image, the most similar of many references.

    The same image gets the same answer whatever others it is asked with, on any number of cores.

    Args:
        references: uint8, N x H x W x C, at least one.

    Raises:
        DataError: there is no reference, or they are smaller than a window.
    """

    def __init__(self, references: ByteImages) -> None:
        if not len(references):
            raise DataError("There are no real images to compare with: give references that hold at least one.")
        self.spec = ImageSpec.of_bytes(references)
        check_window(self.spec)
        self._references = to_planes(references)
        self._few = len(references) <= _LISTS[0]
        self._rows = max(1, min(_BLOCK, _BLOCK_PRODUCTS // len(references)))

    def find(self, images: ByteImages) -> Similar:
        """For each image, its greatest SSIM with a reference, and that reference; one of them where several are equal.

        Raises:
            DataError: the images have another size or number of channels than the references.
        """
        self._check(images)
        scores, places = np.empty(len(images)), np.empty(len(images), dtype=np.int64)
        planes = to_planes(images)
        keep_freed_memory()

        def work(rows: slice) -> None:
            scores[rows], places[rows] = self._best_of_block(planes[rows])

        if not self._few:
            _ = self._prepared
        _side_by_side(work, len(images), self._rows)
        return Similar(scores, places)

    def _check(self, images: ByteImages) -> None:
        given = ImageSpec.of_bytes(images)
        if given != self.spec:
            raise DataError(
                f"The triggers are {given} (channels × height × width), but the references {self.spec}: give as "
                "references (--references) the real images that the generator was trained on."
            )

    @cached_property
    def _prepared(self) -> tuple[Patterns, Float32s]:
        with _one_thread_each():
            patterns = Patterns(self._references)
        numbers = np.empty((len(self._references), patterns.size), dtype=np.float32)

        def work(rows: slice) -> None:
            numbers[rows] = patterns(self._references[rows])

        _side_by_side(work, len(numbers), _BLOCK)
        return patterns, numbers

    def _best_of_block(self, planes: Planes) -> tuple[Scores, NDArray[np.int64]]:
        if self._few:
            found = [self._best_of_all(plane) for plane in planes]
        else:
            patterns, numbers = self._prepared
            near = padded(patterns(planes), self._rows) @ numbers.T
            found = [self._best(plane, row) for plane, row in zip(planes, near, strict=False)]
        scores, places = zip(*found, strict=True)
        return np.array(scores), np.array(places)

    def _best_of_all(self, plane: Planes) -> tuple[float, int]:
        exact = ssim_of_planes(plane[None], self._references)
        return float(exact.max()), int(exact.argmax())

    def _best(self, plane: Planes, near: Float32s) -> tuple[float, int]:
        """The best of a list that is long enough, by what comes near the SSIM; of all for a flat image (few exist)."""
        if plane.min() == plane.max():
            return self._best_of_all(plane)
        for length in _LISTS:
            count = min(length, len(near))
            chosen = np.sort(np.argpartition(near, len(near) - count)[len(near) - count :])
            exact = ssim_of_planes(plane[None], self._references[chosen])
            best = int(exact.argmax())
            expected = near[chosen[best]]
            rank = np.count_nonzero(near[chosen] > expected)
            if rank < _NEAR_TOP * count and exact[best] >= _NEAR_SCORE * expected:
                break
        return float(exact[best]), int(chosen[best])


def _side_by_side(work: Callable[[slice], None], count: int, step: int) -> None:
    """Does the work in blocks, one thread of ours for each core; numpy's own would only get in one another's way."""
    blocks = [slice(start, min(start + step, count)) for start in range(0, count, step)]
    with _one_thread_each(), ThreadPoolExecutor(available_cores()) as threads:
        tasks = [threads.submit(work, block) for block in blocks]
        try:
            for task in tasks:
                task.result()
        except BaseException:
            threads.shutdown(wait=False, cancel_futures=True)
            raise


def _one_thread_each() -> threadpool_limits:
    """Products on one thread: their rounding depends on how many there are."""
    return threadpool_limits(1, user_api="blas")


@dataclass(frozen=True, eq=False)
class SsimFilter:
    """Passes what is like some real image: its greatest SSIM with one is at least the threshold.

    Attributes:
        references: the real images that the generator was trained on, unaugmented: uint8, N x H x W x C.
        threshold: from -1 to 1.

    Raises:
        DataError: there are no references, or they are too small.
        UsageError: the threshold is out of range.
    """

    references: ByteImages
    threshold: float = THRESHOLD
    name: str = "ssim"

    def __post_init__(self) -> None:
        # A calibration may find that even a copy is not similar enough: just above 1.
        if not -1 <= self.threshold <= np.nextafter(1.0, 2.0):
            raise UsageError(f"The SSIM threshold is {self.threshold:g}; expected -1 to 1, as in {THRESHOLD:.2f}.")
        _ = self.most_similar

    @cached_property
    def most_similar(self) -> MostSimilar:
        """Also says which reference it is."""
        return MostSimilar(self.references)

    @cached_property
    def identity(self) -> str:
        """The references' pixels, and how the most similar one is found."""
        digest = hashlib.sha256(repr(self.references.shape).encode())
        digest.update(np.ascontiguousarray(self.references).data)
        return f"ssim-{digest.hexdigest()[:32]}-{_VERSION}"

    def scores(self, candidates: Candidates) -> Scores:
        """The greatest SSIM of each with a reference.

        Raises:
            DataError: they have another size or number of channels than the references.
        """
        return self.most_similar.find(candidates.images).scores

    def reason(self, score: float) -> str:
        """In words, why a trigger with this score does not pass."""
        digits = next((digits for digits in range(2, 6) if round(score, digits) < self.threshold), 6)
        threshold = max(f"{self.threshold:.2f}", f"{self.threshold:g}", key=len)
        return f"the most similar real image has SSIM {score:.{digits}f}, below {threshold}"
