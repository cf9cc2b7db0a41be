"""Thresholds that were given, or found from labels: they hold until others are, for the scores that they are of."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diffgan.drafts import replacing
from diffgan.errors import ArchiveError
from diffgan.filters.protocol import Filter

_FILE = "thresholds.json"


class Chosen:
    """The thresholds that a run's folder remembers, each with the identity of the filter that it was chosen for.

    Args:
        run: the folder.
    """

    def __init__(self, run: Path) -> None:
        self._path = run / _FILE
        self._entries: dict[str, tuple[float, str | None]] = {}
        try:
            read = json.loads(self._path.read_text("utf-8"))
            self._entries = {str(name): _entry(value) for name, value in read.items()}
        except (OSError, ValueError, TypeError, AttributeError, IndexError):
            return  # without it, the filters' own apply

    def of(self, filters: Sequence[Filter]) -> tuple[dict[str, float], dict[str, str]]:
        """By name, those for these filters; and what there is to say of those that are for other scores."""
        found, notes = {}, {}
        for one in filters:
            threshold, identity = self._entries.get(one.name, (None, None))
            if threshold is None:
                continue
            if identity is None or identity == one.identity:
                found[one.name] = threshold
            else:
                notes[one.name] = (
                    f"{one.name} scores by other data or another network than when its threshold was set to "
                    f"{threshold:.4g}: its own applies. --threshold {one.name}=… or --calibrate sets another."
                )
        return found, notes

    def write(self, thresholds: Mapping[str, float], filters: Sequence[Filter], *, anew: bool = False) -> None:
        """Remembers some more.

        Args:
            thresholds: by the filter's name.
            filters: the chain that they are for.
            anew: whether what was chosen for the others of this chain is forgotten.

        Raises:
            ArchiveError: the disk refuses.
        """
        identities = {one.name: one.identity for one in filters}
        if anew:
            self._entries = {name: entry for name, entry in self._entries.items() if name not in identities}
        self._entries |= {name: (threshold, identities[name]) for name, threshold in thresholds.items()}
        try:
            with replacing(self._path) as draft:
                draft.write_text(json.dumps(self._entries, indent=1) + "\n", encoding="utf-8")
        except OSError as error:
            raise ArchiveError(f"{self._path} cannot be written ({error.strerror}): see the disk.") from error


def _entry(value: Any) -> tuple[float, str | None]:
    """A number alone is of an earlier version, or of a user's hand."""
    if isinstance(value, list):
        return float(value[0]), None if value[1] is None else str(value[1])
    return float(value), None
