"""A command run within the tests' process, which has imported already what a new one would take seconds to import."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

import pytest

from diffgan.cli.main import main


def run_here(*arguments: object) -> subprocess.CompletedProcess[str]:
    """What `python -m diffgan` would have done: its exit code, and all that went to its two outputs."""
    words = ["diffgan", *map(str, arguments)]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", words)
        patch.setattr(warnings, "formatwarning", warnings.formatwarning)  # the command has its own
        with _into(1, out, "stdout", patch), _into(2, err, "stderr", patch), pytest.raises(SystemExit) as ended:
            main()
        code = ended.value.code
        return subprocess.CompletedProcess(words, code if isinstance(code, int) else 0, _read(out), _read(err))


@contextmanager
def _into(number: int, file: IO[bytes], name: str, patch: pytest.MonkeyPatch) -> Iterator[None]:
    """What Python and what libraries write to an output goes to the file."""
    getattr(sys, name).flush()
    kept = os.dup(number)
    os.dup2(file.fileno(), number)
    patch.setattr(sys, name, open(os.dup(number), "w", encoding="utf-8"))  # noqa: PTH123, SIM115 - it is a number
    try:
        yield
    finally:
        getattr(sys, name).close()  # the command may have put another one there
        os.dup2(kept, number)
        os.close(kept)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode()
