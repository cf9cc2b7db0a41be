"""Keras models (.keras, .h5), on whatever backend Keras runs on: torch, unless KERAS_BACKEND says otherwise."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import MissingExtraError, ModelError
from diffgan.models.files import require_file
from diffgan.models.keras_safety import vetted_copy
from diffgan.models.names import choose
from diffgan.models.options import Layout, ModelOptions
from diffgan.models.preparing import WholeNumbers, check_whole_numbers
from diffgan.models.protocol import Array
from diffgan.system import available_cores

_ENDINGS = (".keras", ".h5", ".hdf5")


class KerasRuntime:
    """One loaded model, and a second one with the features where they are wanted."""

    def __init__(self, keras: Any, model: Any, options: ModelOptions, path: Path) -> None:
        self.files = [path]
        self._dtype, self.input_shape = _input(path.name, model, options.input_name)
        if self._dtype.kind != "f":
            check_whole_numbers(path.name, str(self._dtype), options, WholeNumbers.of(self._dtype))
        fixed = self.input_shape[0] if self.input_shape else None
        self.batch = fixed if fixed is not None else options.batch
        self.layout: Layout = "NCHW" if _is_channels_first(model) else "NHWC"
        answering, output = _with_output(keras, model, options.output_name, path.name)
        self._answer = _answerer(keras, answering)
        self._answer_both: Callable[[Array], Any] | None = None
        if options.features_name is not None:
            self._answer_both = _answerer(keras, _with_features(keras, model, output, options.features_name, path.name))

    def run(
        self, inputs: NDArray[np.float32], *, features: bool = False, timeout: float | None = None
    ) -> tuple[Array, Array | None]:
        """Answers a batch; a local model does not heed the timeout."""
        del timeout
        prepared = _cast(inputs, self._dtype)
        if features and self._answer_both is not None:
            answers, extra = self._answer_both(prepared)
            return answers, extra
        return self._answer(prepared), None

    def close(self) -> None:
        """Lets go of the model."""
        self._answer = _closed
        self._answer_both = None


class KerasAdapter:
    """Opens .keras and .h5 files that hold nothing but Keras' own layers and their weights."""

    def accepts(self, source: str) -> bool:
        """By the file's ending."""
        return source.lower().endswith(_ENDINGS)

    def load(self, source: str, options: ModelOptions) -> KerasRuntime:
        """Opens a file after a look at what is inside."""
        keras = _import_keras()
        path = require_file(source)
        _limit_threads(keras, options.threads)
        with tempfile.TemporaryDirectory(prefix="diffgan-keras-") as folder:
            model = _load(keras, path, vetted_copy(path, Path(folder)))
        return KerasRuntime(keras, model, options, path)


adapter = KerasAdapter()


def _import_keras() -> Any:
    os.environ.setdefault("KERAS_BACKEND", "torch")
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        import h5py  # noqa: F401 - Keras itself finds out only when it reads weights
        import keras
    except ImportError as error:
        backend = os.environ["KERAS_BACKEND"]
        if error.name and error.name.partition(".")[0] not in ("keras", "h5py"):
            raise ModelError(
                f"Keras cannot start with KERAS_BACKEND={backend} ({error}): install that backend, or say "
                "KERAS_BACKEND=torch."
            ) from error
        missing = "h5py" if error.name == "h5py" else "keras"
        raise MissingExtraError(missing, "keras", "Opening a Keras model") from error
    return keras


def _limit_threads(keras: Any, wanted: int | None) -> None:
    """Torch's threads are the whole process's: left alone, unless asked for or more than there are cores."""
    if keras.backend.backend() != "torch":
        return
    import torch

    cores = available_cores()
    if wanted is not None:
        torch.set_num_threads(wanted)
    elif torch.get_num_threads() > cores:
        torch.set_num_threads(cores)


def _load(keras: Any, path: Path, copy: Path) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return keras.models.load_model(str(copy), compile=False, safe_mode=True)
    except Exception as error:
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ModelError(
            f"{path} is no model that Keras {keras.__version__} can load ({reason[:300]}): save it again with this "
            "version, or export it with model.export('model.onnx', format='onnx')."
        ) from error


def _answerer(keras: Any, model: Any) -> Callable[[Array], Any]:
    """The fast way to call a model: by itself on torch; the others compile what predict_on_batch runs."""
    if keras.backend.backend() != "torch":
        return lambda inputs: model.predict_on_batch(inputs)
    import torch

    def answer(inputs: Array) -> Any:
        with torch.inference_mode():
            outputs = model(inputs, training=False)
            return [_numbers(output) for output in outputs] if isinstance(outputs, list) else _numbers(outputs)

    return answer


def _numbers(output: Any) -> Array:
    import torch

    # numpy has no bfloat16.
    values: Array = (output.float() if output.dtype == torch.bfloat16 else output).cpu().numpy()
    return values


def _closed(_inputs: Array) -> Any:
    raise ModelError("This Keras model was closed: load it again.")


def _input(name: str, model: Any, wanted: str | None) -> tuple[np.dtype[Any], tuple[int | None, ...]]:
    inputs = getattr(model, "inputs", None)
    if not inputs:
        raise ModelError(f"{name} was saved before it was built, so it has no input: call it once, and save it again.")
    choose(name, "input", wanted, [tensor.name for tensor in inputs])
    if len(inputs) > 1:
        raise ModelError(f"{name} takes {len(inputs)} inputs; expected one, of images: export a model with one.")
    kind = str(inputs[0].dtype)
    dtype = np.dtype(kind) if kind in ("uint8", "int8", "int16", "int32") else np.dtype(np.float32)
    return dtype, tuple(inputs[0].shape)


def _cast(inputs: NDArray[np.float32], dtype: np.dtype[Any]) -> Array:
    if dtype.kind == "f":
        return inputs
    limits = np.iinfo(dtype)
    return np.clip(np.rint(inputs), limits.min, limits.max).astype(dtype)


def _is_channels_first(model: Any) -> bool:
    """By the first layer, at any depth, that says where it expects the channels."""
    return next(_data_formats(model), None) == "channels_first"


def _data_formats(model: Any) -> Iterator[str]:
    for layer in getattr(model, "layers", []):
        yield from _data_formats(layer)
        if getattr(layer, "data_format", None) is not None:
            yield str(layer.data_format)


def _with_output(keras: Any, model: Any, wanted: str | None, name: str) -> tuple[Any, Any]:
    """A model with a single output, and that output: by name, by number, or the first."""
    outputs = list(model.outputs)
    # A Sequential model names none: its output is its last layer's.
    names = [str(known) for known in getattr(model, "output_names", [model.layers[-1].name])]
    if wanted is not None and wanted.isdecimal() and wanted not in names and int(wanted) < len(outputs):
        output = outputs[int(wanted)]
    else:
        output = outputs[names.index(choose(name, "output", wanted, names))]
    return (model if len(outputs) == 1 else keras.Model(model.inputs[0], output)), output


def _with_features(keras: Any, model: Any, output: Any, wanted: str, name: str) -> Any:
    """A model that answers with a layer's output, too."""
    layers = {str(layer.name): layer for layer in model.layers}
    layer = layers[choose(name, "features", wanted, list(layers))]
    try:
        return keras.Model(model.inputs[0], [output, layer.output])
    except (AttributeError, ValueError) as error:
        reason = str(error).splitlines()[0]
        raise ModelError(
            f"{name} has a layer {wanted!r}, but its output cannot be had ({reason[:200]}): name another layer with "
            f"features_name, such as {next(reversed(layers))!r}."
        ) from error
