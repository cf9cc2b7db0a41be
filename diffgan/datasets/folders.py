"""Data from the user's own folder of images, with one folder per class."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.datasets.dataset import Dataset
from diffgan.datasets.pictures import SUFFIXES, read_picture
from diffgan.errors import DataError


def read_folder(path: Path) -> Dataset:
    """A folder with one folder of images per class, sorted by name.

    Raises:
        DataError: there are no images, one cannot be read, or they differ in size.
    """
    try:
        entries = sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))
        files = [(file, number) for number, entry in enumerate(entries) for file in _pictures_in(entry)]
    except OSError as error:
        raise DataError(f"{path} cannot be listed ({error.strerror}): check its permissions.") from error
    if not files:
        raise DataError(
            f"{path} holds no images; expected one folder per class with images in it, such as "
            f"{path}/cat/1.png ({', '.join(sorted(SUFFIXES))})."
        )
    images = [read_picture(file) for file, _ in files]
    if any(image.ndim == 3 for image in images):
        images = [image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2) for image in images]
    for (file, _), image in zip(files, images, strict=True):
        if image.shape != images[0].shape:
            raise DataError(
                f"{file} is {_size(image)}, but {files[0][0]} is {_size(images[0])}: all images must have one size."
            )
    labels = np.array([number for _, number in files], dtype=np.int64)
    return Dataset.checked(str(path), np.stack(images), labels, classes=tuple(entry.name for entry in entries))


def _pictures_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())


def _size(image: NDArray[np.uint8]) -> str:
    return f"{image.shape[1]}×{image.shape[0]}"
