"""Data from the user's own files: an .npz, or a folder of images with one folder per class."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.datasets.dataset import Dataset
from diffgan.errors import DataError

_SUFFIXES = {".png", ".jpg", ".jpeg", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff", ".webp"}


def read_npz(path: Path) -> Dataset:
    """An .npz with `images` (uint8, N x H x W x C or N x H x W) and `labels`; `classes` (names) if it has them.

    Raises:
        DataError: it is no such file.
    """
    arrays = _arrays(path)
    missing = [key for key in ("images", "labels") if key not in arrays]
    if missing:
        known = ", ".join(sorted(arrays)) or "nothing"
        raise DataError(
            f"{path} has no {' and no '.join(missing)} (it holds {known}): save it with "
            "numpy.savez(path, images=..., labels=...)."
        )
    names = tuple(str(name) for name in arrays["classes"].ravel()) if "classes" in arrays else None
    return Dataset.checked(str(path), arrays["images"], arrays["labels"], classes=names)


def _arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            if isinstance(archive, np.ndarray):
                raise DataError(f"{path} holds a single array; expected an .npz with images and labels.")
            return {key: archive[key] for key in ("images", "labels", "classes") if key in archive} or {
                key: np.empty(0) for key in archive
            }
    except ValueError as error:
        if "pickle" in str(error):
            raise DataError(
                f"{path} holds pickled objects, which could run code: save images and labels as plain arrays."
            ) from error
        raise DataError(f"{path} is no complete .npz file ({error}): save or copy it again.") from error
    except (OSError, EOFError, zipfile.BadZipFile) as error:
        raise DataError(f"{path} is no complete .npz file ({error}): save or copy it again.") from error


def read_folder(path: Path) -> Dataset:
    """A folder with one folder of images per class, sorted by name.

    Raises:
        DataError: there are no images, one cannot be read, or they differ in size.
    """
    entries = sorted(entry for entry in path.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    files = [(file, number) for number, entry in enumerate(entries) for file in _images_in(entry)]
    if not files:
        raise DataError(
            f"{path} holds no images; expected one folder per class with images in it, such as "
            f"{path}/cat/1.png ({', '.join(sorted(_SUFFIXES))})."
        )
    images = [_read_image(file) for file, _ in files]
    if any(image.ndim == 3 for image in images):
        images = [image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2) for image in images]
    for (file, _), image in zip(files, images, strict=True):
        if image.shape != images[0].shape:
            raise DataError(
                f"{file} is {_size(image)}, but {files[0][0]} is {_size(images[0])}: all images must have one size."
            )
    labels = np.array([number for _, number in files], dtype=np.int64)
    return Dataset.checked(str(path), np.stack(images), labels, classes=tuple(entry.name for entry in entries))


def _images_in(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.suffix.lower() in _SUFFIXES and file.is_file())


def _read_image(file: Path) -> NDArray[np.uint8]:
    """H x W for a grey image, H x W x 3 for any other."""
    from PIL import Image

    try:
        with Image.open(file) as image:
            grey = image.mode in ("1", "L", "LA")
            return np.asarray(image.convert("L" if grey else "RGB"))
    except (OSError, ValueError, SyntaxError, Image.DecompressionBombError) as error:
        raise DataError(f"{file} cannot be read as an image ({error}): replace or remove it.") from error


def _size(image: NDArray[np.uint8]) -> str:
    return f"{image.shape[1]}×{image.shape[0]}"
