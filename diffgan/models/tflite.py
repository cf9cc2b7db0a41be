"""TensorFlow Lite models (.tflite), by LiteRT's interpreter on the CPU."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import MissingExtraError, ModelError
from diffgan.models.files import require_file
from diffgan.models.names import choose
from diffgan.models.options import Layout, ModelOptions
from diffgan.models.preparing import WholeNumbers, check_whole_numbers
from diffgan.models.protocol import Array
from diffgan.system import available_cores


@dataclass(frozen=True)
class Tensor:
    """An input or output of the graph; `scale` 0: its values are as they are."""

    index: int
    dtype: np.dtype[Any]
    scale: float
    zero_point: int

    def numbers(self) -> WholeNumbers:
        """What its whole numbers stand for."""
        if not self.scale:
            return WholeNumbers.of(self.dtype)
        return WholeNumbers.of(self.dtype, scale=self.scale, zero_point=self.zero_point)

    def quantise(self, values: NDArray[np.float32]) -> Array:
        """From real values to the tensor's own type."""
        if self.dtype.kind == "f":
            return values.astype(self.dtype, copy=False)
        scaled = values / np.float32(self.scale) if self.scale else values
        limits = np.iinfo(self.dtype)
        quantised: Array = np.clip(np.rint(scaled) + self.zero_point, limits.min, limits.max).astype(self.dtype)
        return quantised

    def dequantise(self, values: Array) -> Array:
        """From the tensor's own type to real values."""
        if self.dtype.kind == "f" or not self.scale:
            return values
        return (values.astype(np.float32) - np.float32(self.zero_point)) * np.float32(self.scale)


class TfliteRuntime:
    """One interpreter. A file for single images takes any number, and is shown them one by one."""

    layout: Layout = "NHWC"

    def __init__(self, interpreter: Any, options: ModelOptions, path: Path) -> None:
        inputs = _by_name(interpreter.get_input_details())
        outputs = _by_name(interpreter.get_output_details())
        input_name = choose(path.name, "input", options.input_name, list(inputs))
        output_name = choose(path.name, "output", options.output_name, list(outputs))
        features_name = choose(path.name, "features", options.features_name, list(outputs))
        if len(inputs) > 1:
            raise ModelError(
                f"{path.name} takes {len(inputs)} inputs ({', '.join(inputs)}); expected one, of images: "
                "convert it again with a single input."
            )
        self.files = [path]
        self._interpreter = interpreter
        self._input = _tensor(path.name, inputs[input_name])
        if self._input.dtype.kind != "f":
            check_whole_numbers(path.name, str(self._input.dtype), options, self._input.numbers())
        self._size = _set_batch(path.name, interpreter, inputs[input_name], options.batch)
        self._output = _tensor(path.name, outputs[output_name])
        self._features = _tensor(path.name, outputs[features_name]) if options.features_name else None
        self._check_batch(path.name, outputs[output_name])
        self.batch = None if self._size == 1 else self._size
        self.input_shape = (self.batch, *(int(size) for size in inputs[input_name]["shape"][1:]))

    def run(
        self, inputs: NDArray[np.float32], *, features: bool = False, timeout: float | None = None
    ) -> tuple[Array, Array | None]:
        """Answers images, as many at a time as the graph takes; a local model does not heed the timeout."""
        del timeout
        wanted = [self._output, self._features] if features and self._features else [self._output]
        parts: list[list[Array]] = [[] for _ in wanted]
        prepared = self._input.quantise(inputs)
        for start in range(0, len(prepared), self._size):
            self._interpreter.set_tensor(self._input.index, prepared[start : start + self._size])
            self._interpreter.invoke()
            for tensor, collected in zip(wanted, parts, strict=True):
                # get_tensor copies; a view would change with the next image.
                collected.append(self._interpreter.get_tensor(tensor.index))
        answers = [t.dequantise(np.concatenate(part)) for t, part in zip(wanted, parts, strict=True)]
        return answers[0], answers[1] if len(answers) > 1 else None

    def close(self) -> None:
        """Lets go of the interpreter."""
        self._interpreter = None

    def _check_batch(self, name: str, detail: Mapping[str, Any]) -> None:
        """Some graphs let themselves be resized at the front, yet have a fixed size further on."""
        current = {entry["index"]: entry for entry in self._interpreter.get_output_details()}
        shape = current[detail["index"]]["shape"]
        if self._size > 1 and (len(shape) == 0 or shape[0] != self._size):
            raise ModelError(f"{name} answers {self._size} images with shape {tuple(shape.tolist())}: leave out batch.")


class TfliteAdapter:
    """Opens .tflite files."""

    def accepts(self, source: str) -> bool:
        """By the file's ending."""
        return source.lower().endswith(".tflite")

    def load(self, source: str, options: ModelOptions) -> TfliteRuntime:
        """Opens a file whose operations are all built into LiteRT."""
        interpreter_class = _interpreter_class()
        path = require_file(source)
        threads = options.threads or available_cores()
        said = Said()
        try:
            # From memory: a mapped file that shrinks later would end the process.
            content = path.read_bytes()
            with _heard(said):
                interpreter = interpreter_class(model_content=content, num_threads=threads)
                interpreter.allocate_tensors()
        except Exception as error:
            raise _not_opened(path, error, said.lines) from error
        return TfliteRuntime(interpreter, options, path)


adapter = TfliteAdapter()


def _interpreter_class() -> Any:
    try:
        from ai_edge_litert.interpreter import Interpreter
    except ImportError as error:
        raise MissingExtraError("ai-edge-litert", "tflite", "Opening a .tflite model") from error
    return Interpreter


@dataclass
class Said:
    """What LiteRT's C++ part wrote to stderr, but for its chatter."""

    lines: list[str] = field(default_factory=list)


#: File descriptor 2 is the whole process's: two threads that open models must not restore each other's.
_STDERR_LOCK = threading.Lock()


@contextmanager
def _heard(said: Said) -> Iterator[None]:
    """Collects what is written to file descriptor 2: LiteRT has no switch for its INFO lines.

    When nothing fails, all but the INFO lines is passed on, also what another thread wrote in the meantime.
    """
    with _STDERR_LOCK, tempfile.TemporaryFile() as file:
        try:
            kept = os.dup(2)
        except OSError:  # Closed: nothing can be written to it.
            yield
            return
        _flush()
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            _flush()
            os.dup2(kept, 2)
            os.close(kept)
            file.seek(0)
            written = file.read().decode(errors="replace").splitlines()
            said.lines += [line for line in written if not line.startswith("INFO: ")]
        if said.lines:
            os.write(2, "".join(f"{line}\n" for line in said.lines).encode())


def _flush() -> None:
    """Python's own text goes where it was meant to."""
    if sys.stderr is not None and not sys.stderr.closed:
        sys.stderr.flush()


def _not_opened(path: Path, error: Exception, said: Sequence[str]) -> ModelError:
    reason = " ".join(" ".join([str(error), *(line for line in said if line not in str(error))]).split())
    reason = reason or type(error).__name__
    if "custom op" in reason or "Select TensorFlow op" in reason:
        node = re.search(r"Node number \d+ \((\w+)\)", reason)
        which = node[1] if node else _brief(reason)
        return ModelError(
            f"{path} uses operations that are not built into LiteRT ({which}): convert it again with built-in "
            "operations only (tf.lite.OpsSet.TFLITE_BUILTINS), or export it as ONNX."
        )
    return ModelError(
        f"{path} is no TensorFlow Lite model that LiteRT can open ({_brief(reason)}): "
        "is it complete? Convert or copy it again."
    )


def _brief(reason: str) -> str:
    return reason if len(reason) <= 200 else reason[:197] + "..."


def _by_name(details: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {str(detail["name"]): detail for detail in details}


def _tensor(model: str, detail: Mapping[str, Any]) -> Tensor:
    dtype = np.dtype(detail["dtype"])
    if dtype.kind not in "fiu":
        raise ModelError(f"{model} has {dtype} for {detail['name']!r}; expected numbers: convert it so.")
    scales = detail["quantization_parameters"]["scales"]
    zero_points = detail["quantization_parameters"]["zero_points"]
    if len(scales) > 1:
        raise ModelError(
            f"{model} quantises {detail['name']!r} per channel; expected one scale: convert it with float inputs "
            "and outputs."
        )
    scale, zero_point = (float(scales[0]), int(zero_points[0])) if len(scales) else (0.0, 0)
    return Tensor(index=int(detail["index"]), dtype=dtype, scale=scale, zero_point=zero_point)


def _set_batch(model: str, interpreter: Any, detail: Mapping[str, Any], wanted: int | None) -> int:
    """The images per call: the file's own number, unless the options ask for another that the graph allows."""
    shape = [int(size) for size in detail["shape"]]
    if not shape:
        raise ModelError(f"{model} takes a single number, where images are expected: convert an image classifier.")
    if wanted is None or wanted == shape[0]:
        return shape[0]
    try:
        interpreter.resize_tensor_input(detail["index"], [wanted, *shape[1:]])
        interpreter.allocate_tensors()
    except Exception as error:
        raise ModelError(
            f"{model} takes {shape[0]} image(s) at a time, and refuses batch={wanted} "
            f"({_brief(' '.join(str(error).split()))}): leave out batch."
        ) from error
    return wanted
