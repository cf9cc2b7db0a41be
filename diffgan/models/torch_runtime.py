"""Running a torch module as a black box: shared by TorchScript, exported programs, and modules in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from diffgan.errors import ModelError
from diffgan.models.options import Layout, ModelOptions
from diffgan.models.parts import in_parts
from diffgan.models.protocol import Array
from diffgan.system import available_cores


class TorchRuntime:
    """Calls a module under inference mode, with the threads that the options allow.

    Args:
        module: takes a float32 tensor; gives a tensor, a sequence of tensors, or a mapping to tensors.
        options: names (or numbers) of output and features.
        name: for messages.
        files: what to fingerprint.
        input_shape: where the file declares one.
    """

    layout: Layout = "NCHW"

    def __init__(
        self,
        module: Callable[[torch.Tensor], Any],
        options: ModelOptions,
        *,
        name: str,
        files: list[Path] | None = None,
        input_shape: tuple[int | None, ...] | None = None,
    ) -> None:
        self.files = files or []
        self.input_shape = input_shape
        declared = input_shape[0] if input_shape else None
        self.batch = declared if declared is not None else options.batch
        self._module: Callable[[torch.Tensor], Any] | None = module
        self._options = options
        self._name = name
        self._threads = options.threads or available_cores()

    def run(
        self, inputs: NDArray[np.float32], *, features: bool = False, timeout: float | None = None
    ) -> tuple[Array, Array | None]:
        """Answers a batch; a local model does not heed the timeout."""
        del timeout
        if self._module is None:
            raise ModelError(f"{self._name} was closed: load it again.")
        module, options = self._module, self._options

        def answered(part: NDArray[Any]) -> list[Array]:
            # A copy of its own: a module may write into its input, which the other model sees, too.
            answer = module(torch.from_numpy(part.copy()))
            said = [self._pick(answer, options.output_name, "output_name")]
            return [*said, self._pick(answer, options.features_name, "features_name")] if features else said

        with torch.inference_mode(), _torch_threads(self._threads):
            if self.batch is None and _is_here(module):
                said = in_parts(answered, inputs, cores=self._threads, together=True)
            else:
                said = answered(inputs)
        return said[0], said[1] if features else None

    def close(self) -> None:
        """Lets go of the module."""
        self._module = None

    def _pick(self, answer: Any, wanted: str | None, option: str) -> Array:
        """One tensor of an answer that may have several."""
        chosen = answer
        if isinstance(answer, Mapping):
            key = wanted if wanted is not None else next(iter(answer), "")
            if key not in answer:
                raise ModelError(f"{self._name} answers {', '.join(map(str, answer))}, not {option} {wanted!r}.")
            chosen = answer[key]
        elif isinstance(answer, (tuple, list)):
            chosen = answer[self._number(wanted, len(answer), option)]
        elif option == "features_name" or wanted not in (None, "0"):
            raise ModelError(f"{self._name} has one output, so {option} {wanted!r} names nothing: leave it out.")
        if not isinstance(chosen, torch.Tensor):
            raise ModelError(f"{self._name} answers a {type(chosen).__name__}; expected a tensor of probabilities.")
        return chosen.detach().to("cpu").numpy()

    def _number(self, wanted: str | None, count: int, option: str) -> int:
        text = wanted or "0"
        if not text.isdecimal() or int(text) >= count:
            raise ModelError(f"{self._name} has {count} outputs, numbered from 0: {option} {wanted!r} names none.")
        return int(text)


def _is_here(module: Callable[[torch.Tensor], Any]) -> bool:
    """Whether this processor is what computes, as far as the module tells."""
    weights = module.parameters() if isinstance(module, torch.nn.Module) else ()
    return all(weight.device.type == "cpu" for weight in weights)


@contextmanager
def _torch_threads(count: int) -> Iterator[None]:
    """Torch's thread count is one for the whole process: set for the call, and put back."""
    before = torch.get_num_threads()
    if before == count:
        yield
        return
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
