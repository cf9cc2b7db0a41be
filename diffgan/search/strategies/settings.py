"""Reads a strategy's settings: the `search` section of a configuration."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from diffgan.errors import UsageError

Settings = TypeVar("Settings", bound=BaseModel)


def read_strategy_settings(model: type[Settings], given: Mapping[str, Any], strategy: str) -> Settings:
    """The settings, checked.

    Raises:
        UsageError: a key or a value does not fit.
    """
    try:
        return model.model_validate(dict(given))
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            known = ", ".join(model.model_fields) or "none"
            raise UsageError(f"search: the strategy {strategy} has no setting {where!r}; it has: {known}.") from error
        reason = first["msg"].removeprefix("Value error, ")
        subject = f"{where} = {first['input']!r} does not fit the strategy {strategy}" if where else strategy
        raise UsageError(f"search: {subject}: {reason}.") from error
