"""Where the files that a study names are: on the test bed, or beside the study."""

from __future__ import annotations

import os
from pathlib import Path

from diffgan.datasets.loading import is_dataset_name
from diffgan.errors import UsageError

TESTBED = "testbed:"

#: The environment variable that says where the test bed is, and where it is looked for without.
_VARIABLE, _DEFAULT = "DIFFGAN_TESTBED", "../shared/testbed"


def resolved(text: str, where: str, base: Path, *, data: bool = False) -> str:
    """What a study names, as the loaders take it: an absolute path, or an address or a dataset's name as it is.

    Args:
        text: as the study has it; `testbed:` at its start stands for the test bed.
        where: the place in the study, for messages.
        base: what other relative paths are relative to.
        data: whether it may be a dataset's name.

    Raises:
        UsageError: it is not there, or is code.
    """
    if text.startswith("py:"):
        raise UsageError(f"{where} is {text}, but a study may not run code: export the model to a file, or serve it.")
    if "://" in text or (data and is_dataset_name(text)):
        return text
    path = (base / text).resolve()
    if text.startswith(TESTBED):
        path = testbed(where) / text.removeprefix(TESTBED)
    if not path.exists():
        raise UsageError(f"{where} is {text}, but there is no {path}: correct the study, or put the file there.")
    return str(path)


def testbed(where: str) -> Path:
    """The folder of the test bed.

    Raises:
        UsageError: it is not there.
    """
    folder = Path(os.environ.get(_VARIABLE) or _DEFAULT).resolve()
    if not folder.is_dir():
        raise UsageError(
            f"{where} is on the test bed, which is not at {folder}: set {_VARIABLE} to its folder, or name other files."
        )
    return folder
