"""A batch in parts: the same rows in the same order, whatever the sizes, or the whole where that cannot be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.models.parts import in_parts


class Model:
    """Answers with each image's number, and remembers how many it was shown at a time."""

    def __init__(self) -> None:
        self.shown: list[int] = []

    def __call__(self, part: NDArray[Any]) -> list[NDArray[Any]]:
        self.shown.append(len(part))
        return [part.reshape(len(part), -1)[:, :1], part.reshape(len(part), -1)[:, 0]]


def images(count: int, values: int = 784) -> NDArray[np.float32]:
    made = np.zeros((count, values), dtype=np.float32)
    made[:, 0] = np.arange(count)
    return made


@pytest.mark.parametrize(
    ("count", "values", "cores", "together", "expected"),
    [
        (3, 784, 2, False, [3]),
        (64, 784, 2, False, [32, 32]),
        (257, 784, 2, False, [86, 86, 85]),
        (1024, 784, 2, False, [128] * 8),
        (1024, 784, 1, False, [128] * 8),
        (1024, 784, 2, True, [256] * 4),
        (300, 784, 2, True, [150, 150]),
        (256, 784, 5, True, [256]),
        (100, 3072, 1, False, [34, 34, 32]),
        (16, 150_528, 2, False, [4] * 4),
        (96, 150_528, 32, True, [32] * 3),
    ],
)
def test_parts_are_even_and_fit(count: int, values: int, cores: int, together: bool, expected: list[int]) -> None:
    model = Model()
    shown = images(count, values)
    two, one = in_parts(model, shown, cores=cores, together=together)
    assert model.shown == expected
    assert np.array_equal(two, shown[:, :1])
    assert np.array_equal(one, shown[:, 0])


def test_what_gives_no_row_an_image_is_asked_for_the_whole() -> None:
    def mean(part: NDArray[Any]) -> list[NDArray[Any]]:
        return [part.mean(axis=0, keepdims=True)]

    assert np.array_equal(in_parts(mean, images(300), cores=2, together=False)[0], images(300).mean(axis=0)[None])


def test_rows_whose_length_depends_on_the_part_are_asked_for_as_a_whole() -> None:
    def wide(part: NDArray[Any]) -> list[NDArray[Any]]:
        return [np.zeros((len(part), len(part)))]

    assert in_parts(wide, images(257), cores=2, together=False)[0].shape == (257, 257)


def test_a_failure_is_the_callers() -> None:
    def fail(part: NDArray[Any]) -> list[NDArray[Any]]:
        raise ValueError(f"not {len(part)}")

    with pytest.raises(ValueError, match="not 128"):
        in_parts(fail, images(256), cores=2, together=False)
