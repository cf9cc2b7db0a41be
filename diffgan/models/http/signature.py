"""What goes into a model at an endpoint and what comes out: its metadata, and what the options choose of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from diffgan.errors import ModelError
from diffgan.models.http.tensors import IMAGE_DATATYPES, Message, Tensor, WireError, read_object
from diffgan.models.options import ModelOptions
from diffgan.models.preparing import WholeNumbers, lost_in_rounding


@dataclass(frozen=True)
class Declared:
    """The inputs and outputs that an endpoint declares; some servers leave them out."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]


@dataclass(frozen=True)
class Signature:
    """The input that takes the images, and the names of the outputs that are read."""

    input: Tensor
    outputs: tuple[Tensor, ...]
    """All that are declared."""
    output: str | None
    """None: the first of the answer."""
    features: str | None
    """None: no features."""

    @property
    def fixed_batch(self) -> int | None:
        """How many images a request must have, if that is fixed."""
        return self.input.shape[0] if self.input.shape else None


def announces_binary(answer: Message) -> bool:
    """Whether the server's metadata speak of the binary tensor data extension.

    Raises:
        WireError: they are no metadata.
    """
    extensions = read_object(answer.body).get("extensions")
    return isinstance(extensions, list) and "binary_tensor_data" in extensions


def read_signature(answer: Message) -> Declared:
    """A model's metadata.

    Raises:
        WireError: they are none.
    """
    document = read_object(answer.body)
    return Declared(inputs=_tensors(document, "inputs"), outputs=_tensors(document, "outputs"))


def choose(declared: Declared, options: ModelOptions, error: Callable[..., ModelError]) -> Signature:
    """Finds what the options name, or the first ones.

    Raises:
        ModelError: made by `error`; a name is unknown, or the input takes no images.
    """
    return Signature(
        input=_choose_input(declared.inputs, options, error),
        outputs=declared.outputs,
        output=_choose_output(declared.outputs, "output_name", options.output_name, error),
        features=_choose_output(declared.outputs, "features_name", options.features_name, error)
        if options.features_name is not None
        else None,
    )


def _choose_input(known: Sequence[Tensor], options: ModelOptions, error: Callable[..., ModelError]) -> Tensor:
    if not known and options.input_name is None:
        raise error("does not declare its inputs: name the one for the images with the option input_name")
    if not known:
        return Tensor(str(options.input_name), "FP32", None)
    chosen = _named(known, "input_name", options.input_name, error)
    if chosen.datatype not in IMAGE_DATATYPES:
        expected = ", ".join(IMAGE_DATATYPES)
        raise error(
            f"takes no images as numbers (expected an input of {expected}; another can be chosen with input_name); "
            "name and datatype of its input",
            f"{chosen.name} {chosen.datatype}",
        )
    fault = lost_in_rounding(chosen.datatype, options, WholeNumbers(0, 255)) if chosen.datatype == "UINT8" else None
    if fault is not None:
        raise error(fault)
    return chosen


def _choose_output(
    known: Sequence[Tensor], option: str, name: str | None, error: Callable[..., ModelError]
) -> str | None:
    return _named(known, option, name, error).name if known else name


def _named(known: Sequence[Tensor], option: str, name: str | None, error: Callable[..., ModelError]) -> Tensor:
    if name is None:
        return known[0]
    for tensor in known:
        if tensor.name == name:
            return tensor
    raise error(f"has nothing called {name!r}, which {option} asks for; it has", [tensor.name for tensor in known])


def _tensors(document: dict[str, Any], key: str) -> tuple[Tensor, ...]:
    declared = document.get(key) or []
    if not isinstance(declared, list):
        raise WireError(f"gave metadata whose {key} are no list", declared)
    return tuple(_tensor(entry, key) for entry in declared)


def _tensor(entry: Any, key: str) -> Tensor:
    if isinstance(entry, dict):
        name, datatype, shape = (entry.get(field) for field in ("name", "datatype", "shape"))
        if isinstance(name, str) and isinstance(datatype, str) and isinstance(shape, list) and all(map(_is_int, shape)):
            sizes = tuple(size if size > 0 else None for size in shape)
            return Tensor(name, datatype.upper(), sizes or None)
    raise WireError(f"gave metadata in which one of the {key} has no name, datatype and shape", entry)


def _is_int(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
