"""The folder of a run: its configuration, what it ran on, and its summary."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import sys
from collections.abc import Mapping
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml

from diffgan._version import __version__
from diffgan.drafts import replacing
from diffgan.errors import ArchiveError, UsageError
from diffgan.system import available_cores

_CONFIG, _ENVIRONMENT, _SUMMARY, _METRICS = "config.yaml", "environment.json", "summary.json", "metrics.jsonl"

#: What a result may depend on.
_PACKAGES = (
    "torch",
    "torchvision",
    "numpy",
    "pymoo",
    "umap-learn",
    "hdbscan",
    "numba",
    "scikit-learn",
    "scikit-image",
    "onnxruntime",
)

#: Part of a configuration that may be changed when a run goes on: how long it may take in all.
BUDGET = "budget"


class RunFolder:
    """One run's folder.

    Args:
        path: where it is.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def archive(self) -> Path:
        """The file of triggers and checkpoint."""
        return self.path / "archive.db"

    @classmethod
    def create(cls, path: Path, config: Mapping[str, Any]) -> RunFolder:
        """Makes the folder of a new run.

        Raises:
            UsageError: it is there and not empty, or cannot be made.
        """
        check_place(path, resume=False)
        folder = cls(path)
        try:
            path.mkdir(parents=True, exist_ok=True)
            folder._write(_CONFIG, yaml.safe_dump(_plain(config), sort_keys=False, allow_unicode=True))
            folder._write(_ENVIRONMENT, json.dumps(environment(), indent=1) + "\n")
        except OSError as error:
            raise UsageError(f"{path} cannot be written to ({error.strerror}): give another --out.") from error
        return folder

    def discard(self) -> None:
        """Takes back the folder of a run that was refused before it began."""
        for name in (_CONFIG, _ENVIRONMENT, *(f"{self.archive.name}{suffix}" for suffix in ("", "-wal", "-shm"))):
            (self.path / name).unlink(missing_ok=True)
        with suppress(OSError):
            self.path.rmdir()

    @classmethod
    def reopen(cls, path: Path, config: Mapping[str, Any]) -> RunFolder:
        """Opens the folder of a run to go on with it; only its budget may be another one.

        Raises:
            UsageError: there is no run, or it was started otherwise; the difference is shown.
        """
        folder = cls(path)
        found, asked = folder.config(), _plain(config)
        changed = differences(_without_budget(found), _without_budget(asked))
        if changed:
            raise UsageError(
                f"The run in {path} was started otherwise ({'; '.join(changed)}): go on as it was started, or give "
                "another --out."
            )
        folder._save(_CONFIG, yaml.safe_dump(asked, sort_keys=False, allow_unicode=True))
        return folder

    def config(self) -> dict[str, Any]:
        """The configuration that the run was started with.

        Raises:
            UsageError: there is none, or it is damaged.
        """
        path = self.path / _CONFIG
        try:
            content = yaml.safe_load(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageError(f"{self.path} holds no run to go on with: leave out --resume to start one.") from None
        except (OSError, ValueError, yaml.YAMLError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise UsageError(f"{path} cannot be read ({reason}): copy it back, or give another --out.") from error
        if not isinstance(content, dict):
            raise UsageError(f"{path} is damaged: copy it back, or give another --out.")
        return content

    def beginning(self) -> str:
        """Tells the call and the process that began the run, wherever it is moved to; empty where nothing does."""
        try:
            return hashlib.sha256((self.path / _ENVIRONMENT).read_bytes()).hexdigest()
        except OSError:
            return ""

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Replaces the summary.

        Raises:
            ArchiveError: the disk refuses; the triggers are safe.
        """
        self._save(_SUMMARY, json.dumps(_plain(summary), indent=1, ensure_ascii=False) + "\n")

    def summary(self) -> dict[str, Any] | None:
        """The summary, where the run has come to one."""
        try:
            content: dict[str, Any] = json.loads((self.path / _SUMMARY).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None
        return content

    def log(self, entry: Mapping[str, Any]) -> None:
        """Adds a line to the run's metrics; one that cannot be written is left out."""
        try:
            with (self.path / _METRICS).open("a", encoding="utf-8") as file:
                file.write(json.dumps(_plain(entry)) + "\n")
        except OSError:
            return

    def _save(self, name: str, text: str) -> None:
        try:
            self._write(name, text)
        except OSError as error:
            raise ArchiveError(
                f"{self.path / name} cannot be written ({error.strerror}): see the disk; the triggers are safe."
            ) from error

    def _write(self, name: str, text: str) -> None:
        # Paths that are not UTF-8 may be in it; written out, they are still what JSON and YAML allow.
        with replacing(self.path / name) as draft:
            draft.write_text(text, encoding="utf-8", errors="backslashreplace")


def check_place(path: Path, *, resume: bool) -> None:
    """Tells early of a folder that is taken, or that holds no run to go on with.

    Raises:
        UsageError: it is so.
    """
    if resume:
        RunFolder(path).config()
    elif path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise UsageError(f"{path} is there and not empty: give another --out, or --resume to go on with its run.")


def next_folder(parent: Path, stem: str) -> Path:
    """The first of `stem-001`, `stem-002`, ... that is not there."""
    number = 1
    while (parent / f"{stem}-{number:03d}").exists():
        number += 1
    return parent / f"{stem}-{number:03d}"


def environment() -> dict[str, Any]:
    """What the run runs on: versions, cores and threads."""
    import torch

    versions: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return {
        "diffgan": __version__,
        "python": platform.python_version(),
        "system": platform.platform(),
        "machine": platform.machine(),
        "cores": available_cores(),
        "torch_threads": torch.get_num_threads(),
        "process": os.getpid(),
        "command": [_program(), *sys.argv[1:]],
        "packages": versions,
    }


def _program() -> str:
    """What was started, as one would start it again: `python -m diffgan` is `diffgan`."""
    called = Path(sys.argv[0])
    return called.parent.name if called.name == "__main__.py" else called.name


def _plain(content: Mapping[str, Any]) -> dict[str, Any]:
    """As files hold it: paths and numbers of numpy as text and numbers."""
    plain: dict[str, Any] = json.loads(json.dumps(content, default=_as_plain))
    return plain


def _as_plain(value: object) -> Any:
    return value.item() if hasattr(value, "item") else str(value)


def _without_budget(config: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in config.items() if name != BUDGET}


def differences(was: Any, now: Any, where: str = "") -> list[str]:
    """What differs between two configurations, a line each.

    Example:
        >>> differences({"seed": 0, "model": {"name": "a"}}, {"seed": 0, "model": {"name": "b"}})
        ['model.name was a, is b']
    """
    if isinstance(was, dict) and isinstance(now, dict):
        return [
            line
            for name in sorted({*was, *now})
            for line in differences(was.get(name), now.get(name), f"{where}.{name}" if where else name)
        ]
    return [] if was == now else [f"{where} was {was}, is {now}"]
