"""Exported programs (.pt2, by torch.export.save)."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from diffgan.errors import DiffganError, ModelError
from diffgan.models.files import require_file
from diffgan.models.options import ModelOptions
from diffgan.models.protocol import Runtime

if TYPE_CHECKING:
    from torch.export import ExportedProgram


class ExportedAdapter:
    """Opens .pt2 files, after a look at what is inside."""

    def accepts(self, source: str) -> bool:
        """By the file's ending."""
        return source.lower().endswith(".pt2")

    def load(self, source: str, options: ModelOptions) -> Runtime:
        """Opens the vetted copy of a file, never the file itself."""
        from diffgan.models.torch_runtime import TorchRuntime

        path = require_file(source)
        module, program = open_program(path)
        return TorchRuntime(module, options, name=path.name, files=[path], input_shape=_input_shape(program))


adapter = ExportedAdapter()


def open_program(path: Path) -> tuple[Callable[..., Any], ExportedProgram]:
    """The vetted copy of an exported program, as a module and as itself.

    Raises:
        UnsafeFileError: the file could run code.
        ModelError: it is no complete exported program that this torch reads.
    """
    import torch

    from diffgan.models.exported_safety import vetted_copy

    copy = vetted_copy(path)
    try:
        with _quiet("torch.export", "torch._export"):
            program = torch.export.load(copy)
        return program.module(check_guards=False), program
    except DiffganError:
        raise
    except Exception as error:
        reason = next(iter(str(error).splitlines()), type(error).__name__)
        raise ModelError(
            f"{path} cannot be opened by torch {torch.__version__} ({reason}): export it again with this version."
        ) from error


def _input_shape(program: ExportedProgram) -> tuple[int | None, ...] | None:
    """The shape of the first input: whole numbers are fixed, anything else may vary."""
    inputs = program.graph_signature.user_inputs
    for node in program.graph.nodes:
        if inputs and node.name == inputs[0] and "val" in node.meta:
            return tuple(size if isinstance(size, int) else None for size in node.meta["val"].shape)
    return None


@contextmanager
def _quiet(*names: str) -> Iterator[None]:
    """The reader logs its errors and then raises them: once is enough."""
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
