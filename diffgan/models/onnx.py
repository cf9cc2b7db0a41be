"""ONNX models, by ONNX Runtime on the CPU."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError
from diffgan.models.files import require_file
from diffgan.models.names import choose
from diffgan.models.onnx_files import external_files
from diffgan.models.options import Layout, ModelOptions
from diffgan.models.parts import in_parts
from diffgan.models.preparing import WholeNumbers, check_whole_numbers
from diffgan.models.protocol import Array
from diffgan.system import available_cores

_TYPES: dict[str, type[np.generic]] = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(uint8)": np.uint8,
}


class OnnxRuntime:
    """One model. Where it takes any number of images, each core answers a part of them, which costs less than all
    cores working on one operation do."""

    layout: Layout = "NCHW"

    def __init__(self, options: ModelOptions, files: list[Path]) -> None:
        name = files[0].name
        cores = options.threads or available_cores()
        session = open_session(files[0], options, cores=1 if options.batch is None else cores)
        inputs = {entry.name: entry for entry in session.get_inputs()}
        outputs = [entry.name for entry in session.get_outputs()]
        self.files = files
        self._input = choose(name, "input", options.input_name, list(inputs))
        self._output = choose(name, "output", options.output_name, outputs)
        self._features = choose(name, "features", options.features_name, outputs) if options.features_name else None
        self._dtype = _input_type(name, inputs[self._input].type)
        if self._dtype is np.uint8:
            check_whole_numbers(name, "uint8", options, WholeNumbers(0, 255))
        shape = inputs[self._input].shape
        self.input_shape = tuple(size if isinstance(size, int) and size > 0 else None for size in shape)
        declared = self.input_shape[0] if self.input_shape else None
        self.batch = declared if declared is not None else options.batch
        if declared is not None and options.batch is None and cores > 1:
            del session, inputs  # there is to be one at a time
            session = open_session(files[0], options, cores=cores)
        self._session = session
        self._cores = cores
        self._pool = ThreadPoolExecutor(cores, thread_name_prefix="onnx")

    def run(
        self, inputs: NDArray[np.float32], *, features: bool = False, timeout: float | None = None
    ) -> tuple[Array, Array | None]:
        """Answers a batch; a local model does not heed the timeout."""
        del timeout
        if self._session is None:
            raise ModelError(f"{self.files[0].name} was closed: load it again.")
        shown = _cast(inputs, self._dtype)
        wanted = [self._output, self._features] if features else [self._output]

        def answered(part: NDArray[Any]) -> list[Array]:
            answers: list[Array] = self._session.run(wanted, {self._input: part})
            return answers

        if self.batch is None:
            said = in_parts(answered, shown, cores=self._cores, together=False, run=self._pool.map)
        else:
            said = answered(shown)
        return said[0], said[1] if features else None

    def close(self) -> None:
        """Lets go of the session."""
        self._pool.shutdown()
        self._session = None


class OnnxAdapter:
    """Opens .onnx files."""

    def accepts(self, source: str) -> bool:
        """By the file's ending."""
        return source.lower().endswith(".onnx")

    def load(self, source: str, options: ModelOptions) -> OnnxRuntime:
        """Opens a file whose external data, if any, lies in its own folder."""
        path = require_file(source)
        return OnnxRuntime(options, [path, *external_files(path)])


adapter = OnnxAdapter()


def open_session(path: Path, options: ModelOptions, *, cores: int | None = None) -> Any:
    """A session of ONNX Runtime, on so many cores; None: those of the options, else all that there are.

    Raises:
        ModelError: the file is no model that it can open.
    """
    import onnxruntime

    settings = onnxruntime.SessionOptions()
    # Left alone, the runtime counts the host's cores, not the container's.
    settings.intra_op_num_threads = cores or options.threads or available_cores()
    settings.inter_op_num_threads = 1
    # Idle threads that spin starve the other model and the generator.
    settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
    settings.log_severity_level = 4
    try:
        return onnxruntime.InferenceSession(str(path), settings, providers=["CPUExecutionProvider"])
    except Exception as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ModelError(
            f"{path} is no ONNX model that ONNX Runtime {onnxruntime.__version__} can open ({reason}): "
            "is it complete? Export or copy it again."
        ) from error


def _input_type(name: str, declared: str) -> type[np.generic]:
    if declared not in _TYPES:
        raise ModelError(f"{name} takes {declared}; expected images as one of {', '.join(_TYPES)}: export it so.")
    return _TYPES[declared]


def _cast(inputs: NDArray[np.float32], dtype: type[np.generic]) -> NDArray[Any]:
    if dtype is np.float32:
        return inputs
    if dtype is np.uint8:
        return np.clip(np.rint(inputs), 0, 255).astype(np.uint8)
    return inputs.astype(dtype)
