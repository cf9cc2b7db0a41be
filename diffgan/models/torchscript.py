"""TorchScript files (.pt, .ts): deprecated upstream, still what many people have."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.models.files import require_file
from diffgan.models.options import ModelOptions
from diffgan.models.protocol import Runtime

_HOW = (
    "export the model with torch.export.save (.pt2) or torch.onnx.export (.onnx), or name a function that builds it "
    "with py:module:attribute"
)


class TorchScriptAdapter:
    """Opens .pt and .ts files that hold TorchScript, and nothing that is pickled."""

    def accepts(self, source: str) -> bool:
        """By the file's ending."""
        return source.lower().endswith((".pt", ".ts"))

    def load(self, source: str, options: ModelOptions) -> Runtime:
        """Opens a file after a look at what is inside."""
        from diffgan.models.torch_runtime import TorchRuntime

        path = require_file(source)
        return TorchRuntime(open_module(path), options, name=path.name, files=[path])


adapter = TorchScriptAdapter()


def open_module(path: Path) -> Callable[..., Any]:
    """The module in the vetted copy of a TorchScript file, in evaluation mode.

    Raises:
        UnsafeFileError: the file is pickled, or its code reaches beyond its tensors.
        ModelError: it is no complete TorchScript file.
    """
    import torch

    from diffgan.models.torchscript_safety import vetted_copy

    _refuse_pickles(path)
    copy = vetted_copy(path)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module: Callable[..., Any] = torch.jit.load(copy, map_location="cpu").eval()  # type: ignore[no-untyped-call]
    except Exception as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ModelError(f"{path} is no complete TorchScript file ({reason}): copy it again, or {_HOW}.") from error
    return module


def _refuse_pickles(path: Path) -> None:
    """TorchScript is a zip with a code/ folder; what torch.save writes is a pickle, in a zip or bare."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except zipfile.BadZipFile:
        names = []
        with path.open("rb") as file:
            head = file.read(2)
        if head[:1] == b"\x80":
            raise _pickled(path) from None
        cut = "a zip file that was cut short" if head == b"PK" else "no zip file"
        raise ModelError(f"{path} is no TorchScript file (it is {cut}): copy it again, or {_HOW}.") from None
    parts = [name.partition("/")[2] for name in names]
    if any(part.startswith("models/") for part in parts):
        raise ModelError(f"{path} holds an exported program: rename it to {path.stem}.pt2.")
    if not any(part.startswith("code/") for part in parts):
        raise (
            _pickled(path) if "data.pkl" in parts else ModelError(f"{path} is a zip, but no TorchScript file: {_HOW}.")
        )


def _pickled(path: Path) -> UnsafeFileError:
    return UnsafeFileError(f"{path} is pickled (by torch.save), and opening a pickle can run any code: {_HOW}.")
