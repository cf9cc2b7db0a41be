"""Settings in YAML: one file per dataset, read as plain mappings."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from diffgan.errors import UsageError


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


def read_named(config: str) -> dict[str, Any]:
    """A configuration that comes with diffgan, by name, or a YAML file.

    Raises:
        UsageError: there is none, or it cannot be read.
    """
    return _read_file(Path(config)) if Path(config).suffix in (".yaml", ".yml") else read(config)


def _read_file(path: Path) -> dict[str, Any]:
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(names())
        raise UsageError(f"There is no configuration {path}: give a YAML file, or one of {known}.") from None
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UsageError(f"{path} cannot be read as YAML ({reason}): write KEY: VALUE lines.") from error
    if not isinstance(content, dict):
        raise UsageError(f"{path} holds a {type(content).__name__}; expected KEY: VALUE lines.")
    return content
