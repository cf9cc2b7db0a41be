"""What every source of data turns into."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import DataError
from diffgan.images import ByteImages, FloatImages, ImageSpec, check_bytes, to_floats

#: Of classes without names.
LARGEST_UNNAMED_LABEL = 99_999


@dataclass(frozen=True)
class Dataset:
    """Labelled images; build it with `Dataset.checked`.

    Attributes:
        name: how it was asked for, such as `digits:test` or a path.
        images: uint8, N x H x W x C.
        labels: int64, N, indices into `classes`.
        classes: one name per class.
    """

    name: str
    images: ByteImages
    labels: NDArray[np.int64]
    classes: tuple[str, ...]

    @classmethod
    def checked(cls, name: str, images: object, labels: object, *, classes: tuple[str, ...] | None = None) -> Dataset:
        """A dataset, once its arrays are certain to fit one another.

        Raises:
            DataError: they do not.
        """
        pixels = check_bytes(images, name)
        numbers = _check_labels(labels, name, len(pixels))
        if len(pixels) == 0:
            raise DataError(f"{name} holds no images: give data with at least one.")
        largest = int(numbers.max())
        names = _numbered(name, largest) if classes is None else tuple(map(_shown, classes))
        _check_names(names, name)
        if largest >= len(names):
            raise DataError(f"{name} has the label {largest}, but only {len(names)} classes: give a name for each.")
        return cls(name, pixels, numbers.astype(np.int64), names)

    def __len__(self) -> int:
        return len(self.images)

    @property
    def spec(self) -> ImageSpec:
        """The size of its images."""
        return ImageSpec.of_bytes(self.images)

    @cached_property
    def fingerprint(self) -> str:
        """The same for the same images, labels and class names, wherever they came from."""
        digest = hashlib.sha256(repr((self.images.shape, self.classes)).encode())
        digest.update(self.images.data)
        digest.update(np.ascontiguousarray(self.labels, dtype="<i8").data)
        return digest.hexdigest()[:32]

    def floats(self) -> FloatImages:
        """All images as models take them."""
        return to_floats(self.images)

    def counts(self) -> NDArray[np.int64]:
        """How many images each class has."""
        return np.bincount(self.labels, minlength=len(self.classes))

    def part(self, name: str, rows: NDArray[np.int64]) -> Dataset:
        """Some of its images, under another name."""
        return Dataset(name, np.ascontiguousarray(self.images[rows]), self.labels[rows], self.classes)


def _numbered(name: str, largest: int) -> tuple[str, ...]:
    """Names for classes that have none; a far larger label is no class index, and its names would fill the memory."""
    if largest > LARGEST_UNNAMED_LABEL:
        raise DataError(
            f"{name} has the label {largest}; expected class indices from 0, at most {LARGEST_UNNAMED_LABEL:,} where "
            "the classes have no names: number the classes 0, 1, 2, ..."
        )
    return tuple(str(number) for number in range(largest + 1))


def _shown(name: str) -> str:
    """A class's name as every file can hold it: of a folder whose name is not UTF-8, what is not is written out."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def _check_names(names: tuple[str, ...], title: str) -> None:
    """Whatever is counted by class name would be lost for one of two that share it."""
    places: dict[str, int] = {}
    for place, entry in enumerate(names):
        first = places.setdefault(entry, place)
        if first != place:
            raise DataError(
                f"{title} has the class name {entry!r} twice (classes {first} and {place}): give each class its own."
            )


def _check_labels(labels: object, name: str, count: int) -> NDArray[np.integer[Any]]:
    """Whole numbers from 0, still of their own type: a large uint64 would turn negative as int64."""
    if not isinstance(labels, np.ndarray) or labels.dtype.kind not in "iu":
        given = labels.dtype if isinstance(labels, np.ndarray) else type(labels).__name__
        raise DataError(f"{name} holds labels of type {given}; expected whole numbers (class indices from 0).")
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.shape != (count,):
        raise DataError(f"{name} holds labels of shape {labels.shape} for {count} images; expected one label an image.")
    if count and labels.min() < 0:
        raise DataError(f"{name} holds the label {labels.min()}; expected class indices from 0.")
    return labels
