"""Models that are Python: `py:module:attribute`, and any callable given through the API."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError
from diffgan.models.options import Layout, ModelOptions
from diffgan.models.protocol import Array, Runtime


class CallableRuntime:
    """Calls a function with a numpy array; it may answer with anything that numpy can read."""

    layout: Layout = "NCHW"
    input_shape: tuple[int | None, ...] | None = None

    def __init__(self, function: Callable[..., Any], options: ModelOptions) -> None:
        self.batch = options.batch
        self._function = function

    def run(
        self, inputs: NDArray[np.float32], *, features: bool = False, timeout: float | None = None
    ) -> tuple[Array, Array | None]:
        """Answers a batch; a function that offers features gives a pair."""
        del timeout
        # A copy of its own: the caller's array, which the other model sees, too, must stay as it is.
        answer = self._function(inputs.copy())
        if isinstance(answer, tuple):
            return _as_array(answer[0]), _as_array(answer[1]) if features and len(answer) > 1 else None
        return _as_array(answer), None

    def close(self) -> None:
        """Nothing to free."""


class PythonAdapter:
    """Imports `py:module:attribute`; only the command line and the API may name such a source."""

    def accepts(self, source: str) -> bool:
        """By its prefix."""
        return source.startswith("py:")

    def load(self, source: str, options: ModelOptions) -> Runtime:
        """Imports the module (also from the current folder) and wraps the attribute."""
        _, _, rest = source.partition(":")
        module_name, colon, attribute = rest.partition(":")
        if not colon or not module_name or not attribute:
            raise ModelError(f"{source} does not name a callable: write py:module:attribute, such as py:my_models:net.")
        return runtime_of(_find(source, module_name, attribute), options)


adapter = PythonAdapter()


def runtime_of(function: Callable[..., Any], options: ModelOptions) -> Runtime:
    """A torch module runs as torch does best; anything else is called with numpy arrays."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(function, torch.nn.Module):
        from diffgan.models.torch_runtime import TorchRuntime

        return TorchRuntime(function.eval(), options, name=type(function).__name__)
    return CallableRuntime(function, options)


def _find(source: str, module_name: str, attribute: str) -> Callable[..., Any]:
    here = str(Path.cwd())
    sys.path.insert(0, here)
    try:
        module = importlib.import_module(module_name)
    except (Exception, SystemExit) as error:
        raise ModelError(
            f"{source}: the module {module_name} cannot be imported ({type(error).__name__}: {error}): "
            "run from its folder, or install it."
        ) from error
    finally:
        sys.path.remove(here)
    found: Any = module
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ModelError(f"{source}: {module_name} has no attribute {attribute}: check the spelling.")
        found = getattr(found, part)
    if not callable(found):
        raise ModelError(f"{source} is a {type(found).__name__}, which cannot be called with images: name a function.")
    function: Callable[..., Any] = found
    return function


def _as_array(answer: Any) -> Array:
    if hasattr(answer, "detach"):
        answer = answer.detach().cpu().numpy()
    return np.asarray(answer)
