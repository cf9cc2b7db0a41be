"""Settings in YAML: one file per dataset, read as plain mappings."""

from __future__ import annotations

from importlib.resources import files
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
