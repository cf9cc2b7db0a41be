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


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """A copy that nobody can write into."""
    copy = array.copy()
    copy.flags.writeable = False
    return copy


class Packer:
    """Packs a search's checkpoints one after the other; an array that nobody can write into is packed once."""

    def __init__(self) -> None:
        self._frozen: dict[str, tuple[NDArray[Any], bytes]] = {}

    def pack(self, spent: Spent, state: Mapping[str, NDArray[Any]], extra: Mapping[str, Any]) -> dict[str, bytes]:
        """Everything that a search needs to go on.

        Args:
            spent: counters and clock.
            state: the strategy's.
            extra: what else there is to know, as JSON.
        """
        facts = {"spent": spent.model_dump(), "extra": dict(extra)}
        parts = {_SPENT: json.dumps(facts).encode()}
        shapes = {}
        former, self._frozen = self._frozen, {}
        for name, array in state.items():
            shapes[name] = [array.dtype.str, list(array.shape)]
            known = former.get(name)
            packed = known[1] if known is not None and known[0] is array else array.tobytes()
            if not array.flags.writeable and array.base is None:
                self._frozen[name] = array, packed
            parts[_STATE + name] = packed
        parts[_SHAPES] = json.dumps(shapes).encode()
        return parts


def unpack(parts: Mapping[str, bytes]) -> tuple[Spent, dict[str, NDArray[Any]], dict[str, Any]]:
    """What `Packer.pack` was given.

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
