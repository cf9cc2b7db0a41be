"""Which further files an ONNX model reads: found in its protobuf, without the onnx package.

ONNX can keep tensors outside its file. A location that leaves the model's folder would read whatever the author of
the file likes, so it is refused before any runtime sees it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from diffgan.errors import ModelError, UnsafeFileError

# Field numbers of onnx.proto that lead to tensors, by message.
_MODEL = {7: "graph", 25: "function"}
_PATHS: dict[str, dict[int, str]] = {
    "model": _MODEL,
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "function": {7: "node", 11: "attribute"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {13: "entry"},
}


def external_files(path: Path) -> list[Path]:
    """The files with external data that a model names, each once, sorted.

    Raises:
        UnsafeFileError: a location leaves the model's folder.
        ModelError: the file is cut short, or a named file is missing.
    """
    data = memoryview(path.read_bytes())
    try:
        locations = sorted(set(_locations(data, "model")))
    except (IndexError, ValueError) as error:
        raise ModelError(f"{path} is no complete ONNX model: export or copy it again.") from error
    return [_confined(path, location) for location in locations]


def _confined(model: Path, location: str) -> Path:
    folder = model.resolve().parent
    if "\0" in location:
        raise UnsafeFileError(f"{model} reads external data from {location!r}, which is no file name: export it again.")
    target = (folder / location).resolve()
    if Path(location).is_absolute() or not target.is_relative_to(folder):
        raise UnsafeFileError(
            f"{model} reads external data from {location!r}, outside its own folder: put the data beside the model "
            "and export it again (onnx.save_model with a plain file name as location)."
        )
    if not target.is_file():
        raise ModelError(f"{model} keeps weights in {location!r}, which is not beside it: copy that file too.")
    return target


def _locations(message: memoryview, kind: str, depth: int = 0) -> Iterator[str]:
    if depth > 64:
        raise ValueError("nested too deeply")
    for number, value in _fields(message):
        child = _PATHS[kind].get(number)
        if child is None or not isinstance(value, memoryview):
            continue
        if child == "entry":
            entry = {key: text for key, text in _fields(value) if isinstance(text, memoryview)}
            if bytes(entry.get(1, b"")) == b"location":
                yield bytes(entry.get(2, b"")).decode("utf-8", errors="replace")
        else:
            yield from _locations(value, child, depth + 1)


def _fields(message: memoryview) -> Iterator[tuple[int, memoryview | int]]:
    """The fields of one protobuf message: number, and bytes or a whole number."""
    position = 0
    while position < len(message):
        start = position
        key, position = _varint(message, position)
        if key >= 2**32 or position - start > 5:  # the runtime would drop the upper bits, and see another field
            raise ValueError("a field has a number out of range")
        wire = key & 7
        if wire == 0:
            value, position = _varint(message, position)
            yield key >> 3, value
            continue
        if wire == 2:
            size, position = _varint(message, position)
        elif wire in (1, 5):
            size = 8 if wire == 1 else 4
        else:
            raise ValueError(f"unknown wire type {wire}")
        if position + size > len(message):
            raise IndexError("cut short")
        yield key >> 3, message[position : position + size]
        position += size


def _varint(message: memoryview, position: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = message[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
    raise ValueError("a number is too long")
