"""From what a user names to a dataset."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path

from diffgan.datasets.dataset import Dataset
from diffgan.datasets.downloads import DOWNLOADABLE, download
from diffgan.datasets.embedded import DIGITS_PARTS, digits, mnist5k
from diffgan.datasets.folders import read_folder
from diffgan.datasets.npz import read_npz
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
    text = _text(source)
    name, _, part = text.partition(":")
    if name in DATASET_NAMES and not (part and _exists(text)):
        return _named(name, part or None)
    return _from_path(text, Path(text))


def is_dataset_name(text: str) -> bool:
    """Whether a text names a dataset, rather than a path."""
    return text.partition(":")[0] in DATASET_NAMES


def _text(source: object) -> str:
    text = os.fspath(source) if isinstance(source, (str, os.PathLike)) else source
    if not isinstance(text, str):
        raise DataError(f"Data is named by a text or a path, but {type(source).__name__} was given: {_offer()}")
    if not text.strip():
        raise DataError(f"The name of the data is empty: {_offer()}")
    return text


def _exists(text: str) -> bool:
    try:
        return Path(text).exists()
    except OSError as error:
        raise DataError(f"There is no data {_brief(text)} ({error.strerror}): {_offer()}") from error


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
        raise DataError(f"{name} has no part {_brief(part)!r}; its parts: {there}.")
    return part


def _from_path(text: str, path: Path) -> Dataset:
    if not _exists(text):
        near = _nearest(text)
        raise DataError(f"There is no data {_brief(text)}; {f'did you mean {near}?' if near else _offer()}")
    if path.is_dir():
        _check_no_other_folder(path)
        return read_folder(path)
    if path.suffix.lower() != ".npz" or not path.is_file():
        raise DataError(f"{text} is no data that diffgan reads: give an .npz, or a folder with one folder per class.")
    return read_npz(path)


def _check_no_other_folder(path: Path) -> None:
    for file, what in {"archive.db": "a run", "forest.skops": "a selector", "card.json": "a generator"}.items():
        if (path / file).is_file():
            raise DataError(
                f"{path} is {what} (it holds {file}), not data: give an .npz, or a folder with one folder per class."
            )


def _nearest(text: str) -> str | None:
    """The name that was probably meant, by its letters and digits only; none for what is clearly a path."""
    if Path(text).name != text or text.lower().endswith(".npz"):
        return None
    known = {_letters(name): name for name in DATASET_NAMES}
    near = get_close_matches(_letters(text.partition(":")[0]), known, n=1)
    return known[near[0]] if near else None


def _letters(text: str) -> str:
    return "".join(letter for letter in text.casefold() if letter.isalnum())


def _offer() -> str:
    return f"give one of {', '.join(DATASET_NAMES)}, an .npz, or a folder."


def _brief(text: str) -> str:
    return text if len(text) <= 200 else text[:197] + "..."
