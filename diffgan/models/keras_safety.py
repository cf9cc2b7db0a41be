"""Keras files are looked into before Keras sees them: only parts known to hold no code and to read no file pass.

Keras builds what a file's configuration names: classes by module and name, with arguments from the file. Some of
those run code from the file (Lambda, torch modules), some read other files (vocabularies, SavedModels), and HDF5
itself can link to other files. The vetting is by list: what is not known to be harmless is refused.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
import zlib
from pathlib import Path, PurePosixPath
from typing import Any

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.models.keras_parts import (
    ACTIVATIONS,
    BY_MODULE,
    FUNCTION_MODULES,
    OPERATION_MODULES,
    REASONS,
    VALUES,
    WITHOUT_MODULE,
)

_CONFIG = "config.json"
_WEIGHTS = "model.weights.h5"
_MEMBERS = {_CONFIG, "metadata.json", _WEIGHTS}

_LARGEST_CONFIG = 64 << 20
#: Deeper nesting than any real model's; Python's own parser gives up at about 1,000.
_DEEPEST = 200

_HOW = (
    "replace it with Keras' built-in layers, or, where you trust the file, load it yourself and export it with "
    "model.export('model.onnx', format='onnx')"
)


#: HDF5 filters that h5py itself brings: deflate, shuffle, fletcher32, szip, nbit, scaleoffset, lzf.
_FILTERS = {1, 2, 3, 4, 5, 6, 32000}


def vetted_copy(path: Path, folder: Path) -> Path:
    """Reads a .keras or .h5 file once, looks into it, and writes what was looked at into `folder`.

    Args:
        path: the file as the user gave it.
        folder: a private folder for the copy, which is what Keras may be given.

    Raises:
        UnsafeFileError: the file could run code or read other files.
        ModelError: the file is damaged, or something else.
    """
    data = path.read_bytes()
    if path.suffix.lower() == ".keras":
        config, weights = _vet_archive(path, data)
        copy = folder / "model.keras"
        # Without assets: only vocabularies use them. Without other members: Keras would unpack them all.
        with zipfile.ZipFile(copy, "w") as archive:
            archive.writestr(_CONFIG, json.dumps(config))
            archive.writestr(_WEIGHTS, weights)
        return copy
    vet_config(path, _decode(path, _vet_hdf5(path, data, kind="model")))
    copy = folder / "model.h5"
    copy.write_bytes(data)
    return copy


def vet_config(path: Path, config: Any) -> None:
    """Refuses a model's configuration that names anything not on the list, at any depth.

    Raises:
        UnsafeFileError: it does, or it is nested deeper than any model.
    """
    pending: list[tuple[Any, int]] = [(config, 0)]
    while pending:
        value, depth = pending.pop()
        if depth > _DEEPEST:
            raise _refused(path, f"its configuration is nested more than {_DEEPEST} deep")
        if isinstance(value, dict):
            _vet_entry(path, value)
            pending += [(inner, depth + 1) for inner in value.values()]
        elif isinstance(value, list):
            pending += [(inner, depth + 1) for inner in value]


def _vet_entry(path: Path, entry: dict[str, Any]) -> None:
    for key, value in entry.items():
        if key.endswith("activation") and isinstance(value, str) and value not in ACTIVATIONS:
            raise _refused(path, f"its {key} {value!r} is no activation of Keras' own, so it would need code")
    if "class_name" not in entry:
        return
    name = entry["class_name"]
    if not isinstance(name, str):
        raise _refused(path, f"it names a class by {name!r}, which is no name")
    if name in VALUES:
        return
    if name == "function":
        _vet_function(path, entry)
    elif not _is_listed(entry, name):
        raise _refused(path, _why_not(entry, name))
    _vet_registered_name(path, entry, name)


def _vet_function(path: Path, entry: dict[str, Any]) -> None:
    function, module = entry.get("config"), entry.get("module")
    if module not in FUNCTION_MODULES or function not in ACTIVATIONS:
        raise _refused(path, f"it calls the function {function!r} of {module!r}, which is no activation of Keras' own")


def _is_listed(entry: dict[str, Any], name: str) -> bool:
    if "module" not in entry:
        return name in WITHOUT_MODULE
    module = entry["module"]
    if not isinstance(module, str):
        return False
    if module in OPERATION_MODULES:
        return name.isidentifier() and not name.startswith("_")
    return name in BY_MODULE.get(module, frozenset())


def _vet_registered_name(path: Path, entry: dict[str, Any], name: str) -> None:
    """A custom object's registered name takes precedence over the class that the entry shows."""
    registered = entry.get("registered_name")
    if registered is not None and registered not in (name, entry.get("config") if name == "function" else name):
        raise _refused(path, f"its {name} stands for a custom object, {registered!r}, which would need code")


def _why_not(entry: dict[str, Any], name: str) -> str:
    config = entry.get("config")
    label = config.get("name") if isinstance(config, dict) else None
    called = f"{name} ({label!r})" if isinstance(label, str) else name
    if name in REASONS:
        return f"its {called} {REASONS[name]}"
    module = entry.get("module")
    where = f" of the module {module!r}" if module is not None else ""
    return f"its {called}{where} is not one of the parts of Keras that are known to run no code and read no file"


def _vet_archive(path: Path, data: bytes) -> tuple[dict[str, Any], bytes]:
    """The configuration and the weights of a .keras file."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _vet_members(path, archive.infolist())
            present = archive.namelist()
            for needed in (_CONFIG, _WEIGHTS):
                if needed not in present:
                    raise ModelError(f"{path} has no {needed}, so it is no Keras model: save it with model.save().")
            config, weights = archive.read(_CONFIG), archive.read(_WEIGHTS)
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path} is no complete .keras file ({error}): copy it again, or save it again.") from error
    model = _without_training(_decode(path, config))
    vet_config(path, model)
    _vet_hdf5(path, weights, kind="weights")
    return model, weights


def _vet_members(path: Path, members: list[zipfile.ZipInfo]) -> None:
    seen: set[str] = set()
    for member in members:
        name = member.orig_filename
        parts = PurePosixPath(name).parts
        asset = name.startswith("assets/") and ".." not in parts and not set(name) & set("\\:\0")
        if name not in _MEMBERS and not asset:
            raise _refused(path, f"it holds {name!r}, which Keras does not write into a .keras file")
        if name in seen:
            raise _refused(path, f"it holds {name!r} twice")
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise _refused(path, f"its {name} is compressed by a method that Keras does not use")
        if _explodes(member.file_size, member.compress_size):
            raise _refused(path, f"its {name} unpacks to {member.file_size:,} bytes from {member.compress_size:,}")
        seen.add(name)


def _without_training(config: dict[str, Any]) -> dict[str, Any]:
    """Leaves out optimisers, losses and metrics: compile=False drops those of the outermost model only."""
    pending: list[Any] = [config]
    while pending:
        value = pending.pop()
        if isinstance(value, dict):
            if "class_name" in value:
                value.pop("compile_config", None)
            pending += value.values()
        elif isinstance(value, list):
            pending += value
    return config


def _decode(path: Path, text: bytes) -> dict[str, Any]:
    if len(text) > _LARGEST_CONFIG:
        raise _refused(path, f"its configuration has {len(text):,} bytes")
    try:
        # As UTF-8 and without doubled keys, so that Keras cannot read anything else in the same bytes.
        config = json.loads(text.decode("utf-8"), object_pairs_hook=_once)
    except RecursionError:
        raise _refused(path, "its configuration is nested deeper than any model's") from None
    except ValueError as error:
        raise ModelError(f"{path} has a configuration that is no JSON ({error}): save the model again.") from error
    if not isinstance(config, dict) or "class_name" not in config:
        raise ModelError(f"{path} has a configuration that describes no model: save it with model.save().")
    return config


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entry = dict(pairs)
    if len(entry) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return entry


def _vet_hdf5(path: Path, data: bytes, *, kind: str) -> bytes:
    """Refuses links and data outside of the file; returns the model's configuration, where it is a model's file."""
    import h5py

    try:
        with h5py.File(io.BytesIO(data), "r") as file:
            _vet_groups(path, file)
            return _model_config(path, file) if kind == "model" else b""
    except (OSError, RuntimeError, KeyError, ValueError, TypeError) as error:
        raise ModelError(f"{path} holds no complete HDF5 {kind} ({error}): copy it again, or save it again.") from error


def _vet_groups(path: Path, root: Any) -> None:
    import h5py

    pending, seen = [root], set()
    while pending:
        group = pending.pop()
        for name in group:
            # The link first: looking at the item would follow it.
            link = type(group.get(name, getlink=True))
            if link is not h5py.HardLink:
                raise _refused(path, f"its {name!r} is a link ({link.__name__}), which can lead to another file")
            item = group[name]
            if isinstance(item, h5py.Dataset):
                _vet_dataset(path, item)
            elif not isinstance(item, h5py.Group):
                raise _refused(path, f"its {name!r} is neither a group nor an array")
            elif (address := h5py.h5o.get_info(item.id).addr) not in seen:
                seen.add(address)
                pending.append(item)


def _vet_dataset(path: Path, dataset: Any) -> None:
    if dataset.is_virtual or dataset.external:
        raise _refused(path, f"its array {dataset.name!r} takes its values from another file")
    properties = dataset.id.get_create_plist()
    filters = {properties.get_filter(position)[0] for position in range(properties.get_nfilters())}
    if not filters <= _FILTERS:
        raise _refused(path, f"its array {dataset.name!r} needs a plug-in (HDF5 filter {max(filters - _FILTERS)})")
    if _explodes(dataset.nbytes, dataset.id.get_storage_size()):
        raise _refused(path, f"its array {dataset.name!r} unpacks to {dataset.nbytes:,} bytes")


def _model_config(path: Path, file: Any) -> bytes:
    config = file.attrs.get("model_config")
    if isinstance(config, str):
        return config.encode()
    if isinstance(config, bytes):
        return config
    what = "only weights" if "layer_names" in file.attrs or "layers" in file else "something else"
    raise ModelError(f"{path} has no model_config, so it holds {what}: save the whole model with model.save().")


def _explodes(unpacked: int, stored: int) -> bool:
    return unpacked > 256 << 20 and unpacked > 100 * stored


def _refused(path: Path, reason: str) -> UnsafeFileError:
    return UnsafeFileError(f"{path} is not loaded: {reason}. What helps: {_HOW}.")
