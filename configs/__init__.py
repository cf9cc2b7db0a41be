"""Settings in YAML: one file per dataset, and the studies of `diffgan bench`, read as plain mappings."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from diffgan.errors import UsageError

#: What a configuration may hold.
SECTIONS = ("title", "classes", "augmentation", "gan", "search", "filters")

_STUDIES = "studies"


def names() -> list[str]:
    """The configurations that come with diffgan, sorted."""
    return sorted(
        entry.name.removesuffix(".yaml") for entry in files(__name__).iterdir() if entry.name.endswith(".yaml")
    )


def read(name: str) -> dict[str, Any]:
    """The configuration of that name.

    Raises:
        UsageError: there is none.

    Example:
        >>> read("digits")["classes"][:3]
        ['0', '1', '2']
    """
    if name not in names():
        raise UsageError(f"There is no configuration {name!r}; there are: {', '.join(names())}.")
    content: dict[str, Any] = yaml.safe_load((files(__name__) / f"{name}.yaml").read_text(encoding="utf-8"))
    return content


def study_names() -> list[str]:
    """The studies of `diffgan bench` that come with diffgan, sorted.

    Example:
        >>> "rq1-small" in study_names()
        True
    """
    entries = (files(__name__) / _STUDIES).iterdir()
    return sorted(entry.name.removesuffix(".yaml") for entry in entries if entry.name.endswith(".yaml"))


def read_study(study: str) -> dict[str, Any]:
    """A study that comes with diffgan, by name, or a YAML file.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    if is_file_name(study):
        return _read_file(Path(study), "study", study_names())
    if study not in study_names():
        raise UsageError(f"There is no study {study!r}: give a YAML file, or one of {', '.join(study_names())}.")
    text = (files(__name__) / _STUDIES / f"{study}.yaml").read_text(encoding="utf-8")
    content: dict[str, Any] = yaml.safe_load(text)
    return content


def is_file_name(text: str) -> bool:
    """Whether a text is a YAML file's path, rather than a name of ours."""
    return Path(text).suffix in (".yaml", ".yml")


def read_named(config: str) -> dict[str, Any]:
    """A configuration that comes with diffgan, by name, or a YAML file.

    Raises:
        UsageError: there is none, it cannot be read, or it has a section that nobody would read.
    """
    content = _read_file(Path(config), "configuration", names()) if is_file_name(config) else read(config)
    for name in content:
        if name not in SECTIONS:
            hint = " (what searches is chosen by --strategy)" if name == "strategy" else ""
            raise UsageError(f"{config} has a section {name!r}{hint}; a configuration may have {', '.join(SECTIONS)}.")
    return content


def section(content: dict[str, Any], name: str, origin: str) -> dict[str, Any]:
    """The settings under that name in a configuration; none where it has no such section.

    Args:
        content: of the configuration.
        name: of the section.
        origin: of the content, for messages.

    Raises:
        UsageError: it holds something else.
    """
    settings = content.get(name) or {}
    if not isinstance(settings, dict):
        raise UsageError(f"{origin}: {name} holds a {type(settings).__name__}; expected KEY: VALUE lines.")
    return settings


def _read_file(path: Path, kind: str, known: list[str]) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise UsageError(f"There is no {kind} {path}: give a YAML file, or one of {', '.join(known)}.") from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(f"{path} cannot be read as YAML ({reason}): write KEY: VALUE lines.") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path} holds a {type(content).__name__}; expected KEY: VALUE lines.")
    return content
