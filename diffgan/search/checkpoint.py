"""A search's checkpoint as named bytes, for the archive to commit together with the triggers. No pickle."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ArchiveError
from diffgan.search.budgets import Spent

_SPENT, _STATE, _SHAPES = "spent", "strategy/", "shapes"


def pack(spent: Spent, state: Mapping[str, NDArray[Any]], extra: Mapping[str, Any]) -> dict[str, bytes]:
    """Everything that a search needs to go on.

    Args:
        spent: counters and clock.
        state: the strategy's.
        extra: what else there is to know, as JSON.
    """
    facts = {"spent": spent.model_dump(), "extra": dict(extra)}
    parts = {_SPENT: json.dumps(facts).encode()}
    shapes = {}
    for name, array in state.items():
        whole = np.ascontiguousarray(array)
        shapes[name] = [whole.dtype.str, list(whole.shape)]
        parts[_STATE + name] = whole.tobytes()
    parts[_SHAPES] = json.dumps(shapes).encode()
    return parts


def unpack(parts: Mapping[str, bytes]) -> tuple[Spent, dict[str, NDArray[Any]], dict[str, Any]]:
    """What `pack` was given.

    Raises:
        ArchiveError: the checkpoint is damaged, or of another version.
    """
    try:
        facts = json.loads(parts[_SPENT])
        shapes = json.loads(parts[_SHAPES])
        state = {
            name: np.frombuffer(parts[_STATE + name], dtype=np.dtype(kind)).reshape(shape).copy()
            for name, (kind, shape) in shapes.items()
        }
        return Spent.model_validate(facts["spent"]), state, dict(facts["extra"])
    except (KeyError, ValueError, TypeError) as error:
        raise ArchiveError(
            f"The run's checkpoint cannot be read ({error}): its triggers are safe; search on in another --out."
        ) from error
