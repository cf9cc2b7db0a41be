"""Opens a classifier from a path, an address, `py:module:attribute`, or any callable."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from diffgan.errors import DiffganError, ModelError
from diffgan.images import ImageSpec
from diffgan.models.classifier import Classifier
from diffgan.models.fingerprint import of_files
from diffgan.models.options import ModelOptions, build_options, read_sidecar
from diffgan.models.protocol import Adapter, Runtime
from diffgan.system import keep_freed_memory

Source = str | os.PathLike[str] | Callable[..., Any] | Classifier

_GROUP = "diffgan.models"

#: Files that only code can open, and what to do instead.
_PICKLED = {".pth", ".pkl", ".pickle", ".joblib", ".ckpt", ".bin", ".skops", ".safetensors"}


def load_classifier(
    source: Source,
    *,
    options: Mapping[str, Any] | None = None,
    spec: ImageSpec | None = None,
    name: str | None = None,
    origin: str = "options",
) -> Classifier:
    """Opens a model under test, and probes it.

    Args:
        source: a file, an endpoint's address, `py:module:attribute`, or a callable.
        options: what the sidecar does not say, or says otherwise (see `ModelOptions`).
        spec: the size of the images that it will see; without, the probe takes the size that the model declares,
            and is left out where it declares none.
        name: how messages and reports call the model; by default its file's name.
        origin: how messages call the options, such as `--a`.

    Raises:
        ModelError: the model cannot be opened, or the probe failed.
        UsageError: an option is unknown or does not fit.
    """
    keep_freed_memory()
    if isinstance(source, Classifier):
        classifier = source
    elif callable(source):
        classifier = _from_callable(source, build_options(options or {}, origin))
    else:
        classifier = _from_address(_as_text(source), dict(options or {}), origin)
    classifier.name = name or classifier.name
    probed = spec or classifier.declared_spec
    if probed is not None:
        classifier.probe(probed)
    return classifier


def _as_text(source: object) -> str:
    if not isinstance(source, (str, os.PathLike)) or not os.fspath(source):
        raise ModelError(f"A model is a path, an address, py:module:attribute or a callable, not {source!r}.")
    return str(os.fspath(source))


def _from_callable(function: Callable[..., Any], options: ModelOptions) -> Classifier:
    from diffgan.models.python import runtime_of

    name = getattr(function, "__qualname__", type(function).__name__)
    return Classifier(runtime_of(function, options), options, name=name, source=f"py:{name}")


def _from_address(source: str, given: dict[str, Any], origin: str) -> Classifier:
    adapter = _find_adapter(source)
    remote = "://" in source or source.startswith("py:")
    sidecar = {} if remote else read_sidecar(source)
    if sidecar:
        build_options(sidecar, f"{source}.yaml")
    options = build_options(sidecar | given, origin)
    try:
        runtime = adapter.load(source, options)
    except DiffganError:
        raise
    except Exception as error:
        raise ModelError(f"{source} cannot be opened: {type(error).__name__}: {error}") from error
    files = _files(runtime, source)
    fingerprint = of_files(files, options) if files else None
    name = source if remote else Path(source).name
    return Classifier(runtime, options, name=name, source=source, fingerprint=fingerprint)


def _files(runtime: Runtime, source: str) -> list[Path]:
    """What to fingerprint: the files that the runtime names (a model may have several), else the source."""
    named: list[Path] | None = getattr(runtime, "files", None)
    if named is not None:
        return named
    return [Path(source)] if Path(source).is_file() else []


def _find_adapter(source: str) -> Adapter:
    for entry in sorted(entry_points(group=_GROUP), key=_third_parties_first):
        try:
            adapter: Adapter = entry.load()
        except Exception as error:  # noqa: BLE001 - another package's broken adapter must not stop ours
            warnings.warn(f"the model adapter {entry.name} ({entry.value}) cannot be loaded: {error}", stacklevel=2)
            continue
        if adapter.accepts(source):
            return adapter
    raise _nobody_opens(source)


def _third_parties_first(entry: EntryPoint) -> bool:
    """So that another package can take over a format."""
    return entry.value.startswith("diffgan.")


def _nobody_opens(source: str) -> ModelError:
    path = Path(source)
    known = ".onnx, .pt2, .pt, .ts, .tflite, .keras, .h5, an http(s):// address, or py:module:attribute"
    if not os.path.exists(path):  # noqa: PTH110 - unlike Path.exists, it takes names that are too long
        return ModelError(f"There is no model {source}: give {known}.")
    if path.is_dir():
        return ModelError(f"{source} is a folder, where a model's file is expected: give {known}.")
    if path.suffix.lower() in _PICKLED:
        return ModelError(
            f"{source} holds weights or pickled objects, which cannot be opened without running code: export the "
            "model with torch.onnx.export (.onnx) or torch.export.save (.pt2), or name a function that builds it "
            "with py:module:attribute."
        )
    return ModelError(f"{source} has an ending that no model format here has: give {known}.")
