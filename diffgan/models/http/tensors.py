"""Tensors of the Open Inference Protocol on the wire: as JSON, and with the binary tensor data extension."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Where the JSON ends and the binary data begin, in requests and answers.
JSON_LENGTH = "inference-header-content-length"

#: All that numbers may come in; binary data are little-endian.
DATATYPES: Mapping[str, np.dtype[Any]] = {
    "BOOL": np.dtype("?"),
    "UINT8": np.dtype("u1"),
    "UINT16": np.dtype("<u2"),
    "UINT32": np.dtype("<u4"),
    "UINT64": np.dtype("<u8"),
    "INT8": np.dtype("i1"),
    "INT16": np.dtype("<i2"),
    "INT32": np.dtype("<i4"),
    "INT64": np.dtype("<i8"),
    "FP16": np.dtype("<f2"),
    "FP32": np.dtype("<f4"),
    "FP64": np.dtype("<f8"),
}

#: What images can be sent as.
IMAGE_DATATYPES = ("FP16", "FP32", "FP64", "UINT8")


class WireError(Exception):
    """What is wrong with an answer, in words that fit behind the endpoint's name.

    Args:
        text: our words.
        given: what came, whole: it may repeat the token, and can only be shortened once that is out.
    """

    def __init__(self, text: str, *given: object) -> None:
        super().__init__(text)
        self.given = given


@dataclass(frozen=True)
class Message:
    """A body and its headers, whichever way it goes."""

    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Tensor:
    """An input or output, as the endpoint declares it."""

    name: str
    datatype: str
    shape: tuple[int | None, ...] | None
    """With the batch; None for what may vary."""


def write_request(inputs: NDArray[np.float32], tensor: Tensor, outputs: Sequence[str], *, binary: bool) -> Message:
    """A request that asks for these outputs (none: whatever the model answers)."""
    values = _as_datatype(inputs, tensor.datatype)
    described: dict[str, Any] = {"name": tensor.name, "shape": list(inputs.shape), "datatype": tensor.datatype}
    document: dict[str, Any] = {}
    if outputs:
        wish = {"parameters": {"binary_data": True}} if binary else {}
        document["outputs"] = [{"name": name} | wish for name in outputs]
    elif binary:
        document["parameters"] = {"binary_data_output": True}
    if not binary:
        document["inputs"] = [described | {"data": "@"}]
        body = json.dumps(document).replace('"data": "@"', f'"data": [{_numbers(values)}]', 1)
        return Message({"content-type": "application/json"}, body.encode())
    document["inputs"] = [described | {"parameters": {"binary_data_size": values.nbytes}}]
    head = json.dumps(document).encode()
    headers = {"content-type": "application/octet-stream", JSON_LENGTH: str(len(head))}
    return Message(headers, head + values.tobytes())


def read_answer(answer: Message, outputs: Sequence[str | None], count: int) -> list[Array]:
    """The outputs of these names (None: the first), for `count` images, wherever their data lie.

    Raises:
        WireError: the answer is not what was asked for.
    """
    head, tail = _parted(answer)
    document = read_object(head)
    given = document.get("outputs")
    if not isinstance(given, list) or not given or not all(isinstance(output, dict) for output in given):
        raise WireError("answered without a list of outputs", document)
    data = _binary_parts(given, tail)
    arrays = []
    for name in outputs:
        index = _index(given, name)
        arrays.append(_read_output(given[index], data[index], count))
    return arrays


def read_object(text: bytes) -> dict[str, Any]:
    """A JSON object.

    Raises:
        WireError: it is none.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        raise WireError("answered what is no JSON", text.decode(errors="replace")) from None
    if not isinstance(document, dict):
        raise WireError("answered JSON that is no object", document)
    return document


def _as_datatype(inputs: NDArray[np.float32], datatype: str) -> Array:
    if datatype == "UINT8":
        return np.clip(np.rint(inputs), 0, 255).astype(np.uint8)
    return np.ascontiguousarray(inputs, dtype=DATATYPES[datatype])


def _numbers(values: Array) -> str:
    """The values as JSON, flat. Images have few different values, so each is written out once only."""
    distinct, where = np.unique(values, return_inverse=True)
    texts = distinct.astype(str).astype(object)
    return ",".join(texts[where.reshape(-1)])


def _parted(answer: Message) -> tuple[bytes, bytes]:
    length = answer.headers.get(JSON_LENGTH)
    if length is None:
        return answer.body, b""
    if not (length.isascii() and length.isdigit() and len(length) < 16 and int(length) <= len(answer.body)):
        raise WireError(f"answered {len(answer.body)} bytes, but says that of them so many are JSON", length)
    return answer.body[: int(length)], answer.body[int(length) :]


def _binary_parts(outputs: Sequence[Mapping[str, Any]], tail: bytes) -> list[bytes | None]:
    """Each output's share of what follows the JSON; None where its data are in the JSON."""
    parts: list[bytes | None] = []
    start = 0
    for output in outputs:
        parameters = output.get("parameters")
        size = parameters.get("binary_data_size") if isinstance(parameters, dict) else None
        if size is None:
            parts.append(None)
            continue
        if not _is_size(size) or start + size > len(tail):
            raise WireError(f"sent {len(tail) - start} bytes for an output, but calls their number", size)
        parts.append(tail[start : start + size])
        start += size
    if start != len(tail):
        raise WireError(f"sent {len(tail)} bytes of binary data, but its outputs speak of {start}")
    return parts


def _index(outputs: Sequence[Mapping[str, Any]], name: str | None) -> int:
    if name is None:
        return 0
    names = [output.get("name") for output in outputs]
    if name not in names:
        raise WireError(f"answered without the output {name!r}; it gave", names)
    return names.index(name)


def _read_output(output: Mapping[str, Any], binary: bytes | None, count: int) -> Array:
    shape = _read_shape(output)
    values = _from_json(output.get("data")) if binary is None else _from_binary(output.get("datatype"), binary)
    if values.size != math.prod(shape):
        raise WireError(f"answered {values.size} values, but calls their shape", shape)
    if count == 1 and len(shape) < 2 and shape != [1]:
        shape = [1, *shape]  # some servers squeeze a single answer
    if not shape or shape[0] != count:
        raise WireError(f"should answer {count} images with shape [{count}, …], but gave", shape)
    return values.reshape(shape)


def _read_shape(output: Mapping[str, Any]) -> list[int]:
    shape = output.get("shape")
    if not isinstance(shape, list) or not all(_is_size(size) for size in shape):
        raise WireError("answered a shape that is no list of whole numbers", shape)
    return shape


def _from_json(data: Any) -> Array:
    """Numbers, flat or nested: the protocol allows both."""
    try:
        values = np.asarray(data)
    except (ValueError, OverflowError, RecursionError):
        values = np.asarray(None)
    if not isinstance(data, list) or (values.size and values.dtype.kind not in "fiub"):
        raise WireError("answered data that are no numbers", data)
    return values.reshape(-1)


def _from_binary(datatype: Any, data: bytes) -> Array:
    dtype = DATATYPES.get(datatype) if isinstance(datatype, str) else None
    if dtype is None:
        raise WireError(f"should answer numbers ({', '.join(DATATYPES)}), but gave the datatype", datatype)
    if len(data) % dtype.itemsize:
        raise WireError(f"answered {len(data)} bytes, which are no whole number of {datatype} values")
    return np.frombuffer(data, dtype=dtype)


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**40
