"""A look into a TorchScript file before torch does: what reaches beyond tensors is refused.

TorchScript is a program, kept as source in a subset of Python. Its interpreter has no Python, but its operators can
write files (`torch.save`, `torch.from_file`), call other machines and make objects of C++ classes, and some of it
runs while the file is loaded. So every name in the source is checked against an allow-list, and torch gets a copy
with nothing but what was checked. The source is held to a plain form that Python and torch read alike.
"""

from __future__ import annotations

import ast
import io
import pickletools
import re
from collections.abc import Iterator
from pathlib import Path

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.models.operators import NEEDLESS, SIDE_EFFECTS
from diffgan.models.zips import read_members, rebuilt

_HOW = "export it again from plain layers, with torch.export.save (.pt2) or torch.onnx.export (.onnx)"
_MOST_CODE = 32 * 2**20

_KEPT = re.compile(
    r"data\.pkl|constants\.pkl|(data|constants)/\w+|code/(\w+/)*\w+\.py|version|byteorder"
    r"|\.data/(version|serialization_id)",
    re.ASCII,
)
# One token after another: words, numbers, strings in one pair of quotes without a prefix, and signs.
_PLAIN = re.compile(
    r"""(?:[A-Za-z_0-9.]+(?!["'])|"(?:[^"\\\n]|\\[^\n])*"(?!["'])|'(?:[^'\\\n]|\\[^\n])*'(?!["'])"""
    r"""|[ \n()\[\]{},:=<>!+\-*/%@&|^~])*+"""
)
_PRINTABLE = re.compile(r"[^\x00-\x1f\\\x7f-\U0010ffff]*")

_PRIMITIVES = {
    *("NumToTensor", "RaiseException", "Print", "TupleIndex", "TupleUnpack", "ModuleContainerIndex", "StringIndex"),
    *("EnumName", "EnumValue", "IfThenElse", "Uninitialized", "VarConcat", "VarStack", "BroadcastSizes"),
    *("ConstantChunk", "FusedConcat", "AutogradAdd", "AutogradZero", "AutogradAnyNonZero", "ReductionSizes"),
    *("abs", "data", "device", "dtype", "grad", "id", "index", "is_cpu", "is_cuda", "is_ipu", "is_maia", "is_meta"),
    *("is_mkldnn", "is_mps", "is_mtia", "is_nested", "is_quantized", "is_sparse", "is_sparse_csr", "is_vulkan"),
    *("is_xla", "is_xpu", "itemsize", "layout", "max", "min", "name", "nbytes", "rangelist", "requires_grad"),
    *("tolist", "type", "unchecked_cast", "unchecked_unwrap_optional"),
}
_NATIVE_CLASSES = re.compile(
    r"__torch__\.torch\.classes\.(quantized\.(Linear|Conv2d|Conv3d|Embedding)PackedParamsBase|rnn\.CellParamsBase)"
)
_FOREIGN_NATIVE = re.compile(
    rb"__torch__.torch.classes(?!.(quantized.(Linear|Conv2d|Conv3d|Embedding)PackedParamsBase|rnn.CellParamsBase)\b)",
    re.DOTALL,
)
_PICKLED = re.compile(
    r"collections\.OrderedDict|torch\.\w+Storage|torch\.(device|per_\w+|\w+_format)|torch\.jit\._pickle\.\w+"
    r"|torch\._utils\._rebuild_\w+|builtins\.complex|__torch__(\.\w+)+",
    re.ASCII,
)


def vetted_copy(path: Path) -> io.BytesIO:
    """The file's archive, rebuilt from what was checked.

    Raises:
        UnsafeFileError: it reaches beyond its tensors.
        ModelError: it is no complete TorchScript file.
    """
    members = read_members(path, kind="TorchScript", how=_HOW)
    kept = {name: data for name, data in members.items() if _KEPT.fullmatch(name)}
    if sum(len(data) for name, data in kept.items() if name.endswith(".py")) > _MOST_CODE:
        raise ModelError(f"{path} holds more than {_MOST_CODE:,} bytes of code, too much to check: {_HOW}.")
    for name, data in kept.items():
        try:
            if name.endswith(".py"):
                _vet_source(data)
            elif name.endswith(".pkl"):
                _vet_pickle(data)
        except _RefusedError as refused:
            raise UnsafeFileError(
                f"{path} reaches beyond its tensors: in {name}, {refused}. To be safe, {_HOW}."
            ) from None
    return rebuilt(kept)


class _RefusedError(Exception):
    """What in the file reaches beyond tensors."""


def _vet_pickle(data: bytes) -> None:
    """Torch's reader for these pickles makes tensors, lists and the classes of code/, but also native objects."""
    if _FOREIGN_NATIVE.search(data):
        raise _RefusedError("it makes or names an object of a native class")
    try:
        found = [(code.name, str(value)) for code, value, _ in pickletools.genops(data)]
    except Exception as error:  # genops raises whatever the damage leads to
        raise _RefusedError("a pickle cannot be read") from error
    for code, value in found:
        if code in ("STACK_GLOBAL", "INST") or code.startswith("EXT"):
            raise _RefusedError(f"an object is made in an uncommon way ({code})")
        if code == "GLOBAL":
            name = value.replace(" ", ".")
            if not _PICKLED.fullmatch(name):
                raise _RefusedError(f"it makes a {name}")
            _check_class(name)


def _vet_source(data: bytes) -> None:
    try:
        source = data.decode("ascii")
    except UnicodeDecodeError:
        raise _RefusedError("the code is not plain ASCII") from None
    if not _PLAIN.fullmatch(source):
        raise _RefusedError("the code has comments, line joins or strings that readers may take differently")
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise _RefusedError("the code cannot be read") from None
    _vet_tree(tree)


def _vet_tree(tree: ast.AST) -> None:
    """Each dotted name is checked as a whole; torch, ops and getattr may not be passed on under another name."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, called = waiting.pop()
        if isinstance(node, ast.Attribute):
            chain = _dotted(node)
            if chain and chain[0] in ("torch", "ops", "__torch__"):
                _check_global(chain, called=called)
            else:
                _check_member(node.attr)
                waiting.append((node.value, False))
            continue
        if isinstance(node, ast.Name):
            if node.id in ("torch", "ops", "__torch__") or (node.id == "getattr" and not called):
                raise _RefusedError(f"it passes on {node.id!r}")
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            _check_imports(node)
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name) and node.func.id == "getattr":
                _check_getattr(node)
            waiting.append((node.func, True))
            waiting.extend((child, False) for child in _arguments(node))
            continue
        waiting.extend((child, False) for child in ast.iter_child_nodes(node))


def _arguments(call: ast.Call) -> Iterator[ast.AST]:
    yield from call.args
    yield from call.keywords


def _dotted(node: ast.AST) -> list[str]:
    """The parts of a.b.c, or nothing where it starts with something else than a name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return [node.id, *reversed(parts)] if isinstance(node, ast.Name) else []


def _check_global(chain: list[str], *, called: bool) -> None:
    name = ".".join(chain)
    if chain[0] == "__torch__":
        _check_class(name)
    elif not called:
        raise _RefusedError(f"it passes on {name!r}")
    elif not _is_allowed(chain[1:] if chain[0] == "ops" else ["aten", *chain[1:]]):
        raise _RefusedError(f"it calls {name!r}")


def _is_allowed(operator: list[str]) -> bool:
    if len(operator) != 2:
        return False
    namespace, name = operator
    if namespace == "aten":
        return name not in SIDE_EFFECTS | NEEDLESS and _is_known(f"aten::{name}")
    return namespace in ("quantized", "torchvision") or (namespace == "prim" and name in _PRIMITIVES)


def _is_known(operator: str) -> bool:
    import torch

    return bool(torch._C._jit_get_schemas_for_operator(operator))


def _check_class(name: str) -> None:
    """A class of the file itself, or the packed weights of a quantised layer."""
    native = "__torch__.torch.classes"
    outside = name == native or name.startswith(native + ".")
    if name in ("__torch__", "__torch__.torch") or (outside and not _NATIVE_CLASSES.fullmatch(name)):
        raise _RefusedError(f"it uses the native class {name!r}")


def _check_member(name: str) -> None:
    if name in SIDE_EFFECTS or not _PRINTABLE.fullmatch(name):
        raise _RefusedError(f"it calls {name!r}")


def _check_getattr(call: ast.Call) -> None:
    name = call.args[1] if len(call.args) > 1 else None
    if not (isinstance(name, ast.Constant) and isinstance(name.value, str)):
        raise _RefusedError("it computes the name of an attribute")
    _check_member(name.value)


def _check_imports(node: ast.Import | ast.ImportFrom) -> None:
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [""]
    if not all(name.partition(".")[0] == "__torch__" for name in names):
        raise _RefusedError("it imports something")
