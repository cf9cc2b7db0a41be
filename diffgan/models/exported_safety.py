"""A look into a .pt2 file before torch does: what could run code is refused, what is not needed is left out.

`torch.export.load` trusts its file: it unpickles tensors and objects, evaluates size expressions as Python, resolves
any attribute of the torch package as an operator (`torch.os.system` is one), and turns names and guards into source.
So the file is taken apart here by an allow-list, and torch gets a copy with nothing but what was checked.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.models.operators import NEEDLESS, SIDE_EFFECTS
from diffgan.models.zips import read_members, rebuilt

_HOW = "export it again with torch.export.export and torch.export.save from plain layers, or as ONNX"

_KEPT = re.compile(
    r"models/model\.json|data/weights/.*|data/constants/.*|data/sample_inputs/model\.pt"
    r"|archive_format|archive_version|byteorder|\.data/version|\.data/serialization_id"
)
_OPERATORS = re.compile(
    r"torch\.ops\.(aten|prim|prims|quantized|quantized_decomposed|torchvision)\.(?P<name>\w+)(\.\w+)?"
    r"|torch\.ops\.higher_order\.(cond|wrap_with_set_grad_enabled|wrap_with_autocast)"
    r"|_operator\.(add|sub|mul|floordiv|truediv|mod|pow|neg|pos|eq|ne|lt|le|gt|ge|and_|or_|xor|not_|getitem)"
    r"|torch\.sym_\w+|math\.(ceil|floor|trunc|sqrt)"
)
_NAME = re.compile(r"[A-Za-z_]\w*(\.\w+)*|", re.ASCII)
_PATH = re.compile(r"\w+(\.\w+)*|", re.ASCII)
_PATHS = {"parameter_name", "buffer_name", "tensor_constant_name", "fqn"}
_SYMBOL = re.compile(r"Symbol\('[a-z]+\d+'(, (positive|integer|nonnegative|real)=(True|False))*\)")
_WORD = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_EXPRESSION = re.compile(r"[\w+\-*/%(), .<>=&|~]*", re.ASCII)
_FUNCTIONS = {
    *("Integer", "Rational", "Float", "Add", "Mul", "Pow", "Mod", "Max", "Min", "Eq", "Ne", "Gt", "Ge", "Lt", "Le"),
    *("And", "Or", "Not", "true", "false", "True", "False", "FloorDiv", "ModularIndexing", "CleanDiv", "CeilDiv"),
    *("IntTrueDiv", "FloatTrueDiv", "PythonMod", "Where", "TruncToInt", "ToFloat", "RoundToInt", "CeilToInt"),
    *("FloorToInt", "PowByNatural", "floor", "ceiling"),
}
_CONTAINERS = {None, "builtins.tuple", "builtins.list", "builtins.dict", "collections.OrderedDict"}


def vetted_copy(path: Path) -> io.BytesIO:
    """The file's archive, rebuilt from what was checked.

    Raises:
        UnsafeFileError: something in it could run code.
        ModelError: it is no complete exported program.
    """
    members = read_members(path, kind=".pt2", how=_HOW)
    if any(name.startswith("data/aotinductor/") for name in members):
        raise UnsafeFileError(f"{path} holds compiled native code (AOTInductor): {_HOW}.")
    if "models/model.json" not in members:
        raise ModelError(f"{path} holds no exported program that this version reads: {_HOW}.")
    kept = {name: data for name, data in members.items() if _KEPT.fullmatch(name)}
    kept["models/model.json"] = _vetted_program(path, kept["models/model.json"])
    for name in ("data/weights/model_weights_config.json", "data/constants/model_constants_config.json"):
        if name in kept:
            _vet_payloads(path, name.rpartition("/")[0], kept[name], kept)
    for name, data in kept.items():
        if name.endswith(".pt"):
            _vet_pickle(path, name, data)
    return rebuilt(kept)


def _vet_pickle(path: Path, name: str, data: bytes) -> None:
    """Torch would fall back to a pickle that runs anything, so it must be one that cannot."""
    import torch

    try:
        torch.load(io.BytesIO(data), weights_only=True, map_location="cpu")
    except Exception as error:
        raise UnsafeFileError(f"{path} holds pickled objects in {name}, which could run code: {_HOW}.") from error


def _vet_payloads(path: Path, folder: str, config: bytes, members: dict[str, bytes]) -> None:
    for entry in _parsed(path, config).get("config", {}).values():
        name = str(entry.get("path_name", ""))
        if not re.fullmatch(r"(weight|tensor)_\d+", name):
            raise UnsafeFileError(f"{path} holds the object {folder}/{name}, which could run code: {_HOW}.")
        if entry.get("use_pickle"):
            _vet_pickle(path, f"{folder}/{name}", members.get(f"{folder}/{name}", b""))


def _vetted_program(path: Path, data: bytes) -> bytes:
    program = _parsed(path, data)
    program["guards_code"] = []
    try:
        return json.dumps(_vetted(program)).encode()
    except _RefusedError as refused:
        raise UnsafeFileError(f"{path} could run code: {refused}. To be safe, {_HOW}.") from None
    except RecursionError:
        raise ModelError(f"{path} is nested too deeply to be a model: {_HOW}.") from None


def _parsed(path: Path, data: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{path} holds a description that is no JSON: copy or export it again.") from error
    if not isinstance(parsed, dict):
        raise ModelError(f"{path} holds a description that is no object: copy or export it again.")
    return parsed


class _RefusedError(Exception):
    """What in the program could run code."""


def _vetted(value: Any) -> Any:
    if isinstance(value, list):
        return [_vetted(item) for item in value]
    if isinstance(value, dict):
        return {key: _vetted_entry(key, item) for key, item in value.items()}
    return value


def _vetted_entry(key: str, value: Any) -> Any:
    if key == "metadata":
        return {}
    if ("custom_obj" in key or "opaque" in key) and value:
        raise _RefusedError(f"it holds a custom object ({key})")
    if key.endswith("_values") and isinstance(value, dict):
        for name in value:
            _check_name(name)
    rule = _RULES.get(key)
    if rule is not None and value is not None:
        rule(value)
    elif key in _PATHS:
        _check_path(value)
    elif key == "name" or key.endswith("_name"):
        _check_name(value)
    return _vetted(value)


def _check_name(value: Any) -> None:
    if value is not None and not (isinstance(value, str) and _NAME.fullmatch(value)):
        raise _RefusedError(f"{value!r} is no name")


def _check_path(value: Any) -> None:
    """The way to a weight through its modules, where numbers count them: 1.weight."""
    if value is not None and not (isinstance(value, str) and _PATH.fullmatch(value)):
        raise _RefusedError(f"{value!r} is no name of a weight")


def _check_operator(value: Any) -> None:
    found = _OPERATORS.fullmatch(value) if isinstance(value, str) else None
    if found is None or found["name"] in SIDE_EFFECTS | NEEDLESS:
        raise _RefusedError(f"it calls {value!r}")


def _check_expression(value: Any) -> None:
    plain = _SYMBOL.sub("s0", value) if isinstance(value, str) else "("
    words = _WORD.findall(plain)
    known = all(word in _FUNCTIONS or re.fullmatch(r"[a-z]+\d+", word) for word in words)
    if not _EXPRESSION.fullmatch(plain) or not known or "__" in plain or re.search(r"\.\s*[A-Za-z_(]", plain):
        raise _RefusedError(f"a size is computed by {value!r}")


def _check_ranges(value: Any) -> None:
    for name in value:
        if not re.fullmatch(r"[a-z]+\d+", name):
            _check_expression(name)


def _check_containers(value: Any) -> None:
    def walk(spec: Any) -> None:
        if isinstance(spec, list):
            for item in spec:
                walk(item)
        elif isinstance(spec, dict):
            if spec.get("type") not in _CONTAINERS or "__enum__" in str(spec.get("context")):
                raise _RefusedError(f"it takes or gives a {spec.get('type')}")
            walk(spec.get("children_spec", []))

    try:
        walk(json.loads(value))
    except (TypeError, ValueError):
        raise _RefusedError("its inputs have no readable structure") from None


_RULES: dict[str, Callable[[Any], None]] = {
    "target": _check_operator,
    "as_operator": _check_operator,
    "expr_str": _check_expression,
    "range_constraints": _check_ranges,
    "in_spec": _check_containers,
    "out_spec": _check_containers,
}
