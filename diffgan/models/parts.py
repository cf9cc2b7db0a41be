"""Answers a batch in parts that a core's cache holds, with all that a model makes of them on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.models.protocol import Array

#: The most images of a part, for each core that works on it, and the most of their values unless those are too few
#: images. As many images as a probe shows are never parted.
_IMAGES, _VALUES, _FEWEST = 128, 131_072, 4

Answer = Callable[[NDArray[Any]], list[Array]]


def in_parts(
    answer: Answer,
    shown: NDArray[Any],
    *,
    cores: int,
    together: bool,
    run: Callable[[Answer, list[NDArray[Any]]], Iterable[list[Array]]] = map,
) -> list[Array]:
    """What `answer` gives for all images: some arrays, of a row an image.

    Args:
        answer: asks the model.
        shown: the images.
        cores: how many work on them.
        together: whether they work on one part; else each has its own.
        run: asks for one part after the other, or for several at a time.
    """
    each = max(1, min(_IMAGES, _VALUES // max(1, shown[:1].size)))
    most = max(_FEWEST, each * cores if together else min(each, -(-len(shown) // cores)))
    if len(shown) <= most:
        return answer(shown)
    size = -(-len(shown) // -(-len(shown) // most))  # even ones: the last is not a lone image
    parts = [shown[start : start + size] for start in range(0, len(shown), size)]
    said = list(run(answer, parts))
    if not _are_rows(parts, said):
        return answer(shown)  # it does not give a row an image: let it be seen
    return [np.concatenate(column) for column in zip(*said, strict=True)]


def _are_rows(parts: list[NDArray[Any]], said: list[list[Array]]) -> bool:
    """Whether each part has a row for each of its images, of one shape."""
    shapes = [[np.shape(column) for column in row] for row in said]
    counts = all(shape[:1] == (len(part),) for part, row in zip(parts, shapes, strict=True) for shape in row)
    return counts and all(len({shape[1:] for shape in column}) == 1 for column in zip(*shapes, strict=True))
