"""A model's file: there, readable, and not empty."""

from __future__ import annotations

import os
from pathlib import Path

from diffgan.errors import ModelError


def require_file(source: str) -> Path:
    """The path of a model's file, once it is certain to be one.

    Raises:
        ModelError: it is missing, a folder, empty, or not readable.
    """
    path = Path(source)
    if not os.path.exists(path):  # noqa: PTH110 - unlike Path.exists, it takes names that are too long
        raise ModelError(f"There is no file {source}: check the path.")
    if path.is_dir():
        raise ModelError(f"{source} is a folder, where a model's file is expected: give the file in it.")
    try:
        with path.open("rb") as file:
            if not file.read(1):
                raise ModelError(f"{source} is empty: copy or export the model again.")
    except OSError as error:
        raise ModelError(f"{source} cannot be read ({error.strerror}): check its permissions.") from error
    return path
