"""From what a user names to a dataset."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from diffgan.datasets.dataset import Dataset
from diffgan.datasets.downloads import DOWNLOADABLE, download
from diffgan.datasets.embedded import DIGITS_PARTS, digits, mnist5k
from diffgan.datasets.files import read_folder, read_npz
from diffgan.errors import DataError

DATASET_NAMES = ("digits", "mnist5k", *DOWNLOADABLE)


def load_dataset(source: str | os.PathLike[str] | Dataset) -> Dataset:
    """Labelled images, by name or by path.

    Args:
        source: `digits` (or its parts `digits:models`, `digits:judge`, `digits:test`), `mnist5k`, `mnist`,
            `fashion-mnist`, `cifar10`, `svhn` (the test split; `mnist:train` is the other), an .npz, or a folder with
            one folder of images per class.

    Raises:
        DataError: there is no such data, or it does not fit.

    Example:
        >>> data = load_dataset("digits:test")
        >>> str(data.spec), len(data.classes)
        ('1×8×8', 10)
    """
    if isinstance(source, Dataset):
        return source
    text = os.fspath(source)
    name, _, part = text.partition(":")
    if name in DATASET_NAMES and not (Path(text).exists() and part):
        return _named(name, part or None)
    return _from_path(text, Path(text))


def is_dataset_name(text: str) -> bool:
    """Whether a text names a dataset, rather than a path."""
    return text.partition(":")[0] in DATASET_NAMES


def _named(name: str, part: str | None) -> Dataset:
    if name == "digits":
        return digits(_known_part(name, part, DIGITS_PARTS))
    if name == "mnist5k":
        _known_part(name, part, ())
        return mnist5k()
    return download(name, _known_part(name, part, ("test", "train")) or "test")


def _known_part(name: str, part: str | None, known: object) -> str | None:
    parts = list(known) if isinstance(known, (tuple, dict)) else []
    if part is not None and part not in parts:
        there = ", ".join(f"{name}:{entry}" for entry in parts) or "none"
        raise DataError(f"{name} has no part {part!r}; its parts: {there}.")
    return part


def _from_path(text: str, path: Path) -> Dataset:
    if not path.exists():
        near = get_close_matches(text, DATASET_NAMES, n=1)
        hint = f"did you mean {near[0]}?" if near else f"give one of {', '.join(DATASET_NAMES)}, an .npz, or a folder."
        raise DataError(f"There is no data {text}; {hint}")
    if path.is_dir():
        return read_folder(path)
    if path.suffix.lower() != ".npz":
        raise DataError(f"{text} is no data that diffgan reads: give an .npz, or a folder with one folder per class.")
    return read_npz(path)
