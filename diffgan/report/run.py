"""What a report reads of a run's folder; what is not there is left empty, and said."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.archive import Archive, LabelColumns, StoredTriggers
from diffgan.errors import DiffganError, UsageError
from diffgan.images import ImageSpec
from diffgan.runs import RunFolder

Rows = NDArray[np.int64]

_COLUMNS = ("ids", "label_a", "label_b", "divergence", "seconds", "evaluation", "queries_a", "queries_b", "kept")
_PAGE = 50_000


@dataclass(frozen=True, eq=False)
class Run:
    """One run, its triggers in the order of discovery.

    Attributes:
        path: the folder.
        config, summary, environment: of its files; empty where one is missing or damaged.
        spec: the size of its images.
        class_names: as the archive holds them.
        columns: what is short of every trigger, by name.
        verdicts: passed and failed by filter.
        labels: what people and judges have said.
    """

    path: Path
    config: dict[str, Any]
    summary: dict[str, Any]
    environment: dict[str, Any]
    spec: ImageSpec
    class_names: tuple[str, ...] | None
    columns: dict[str, NDArray[Any]]
    verdicts: dict[str, tuple[int, int]]
    labels: LabelColumns

    @classmethod
    def read(cls, path: Path) -> Run:
        """Reads all but the images.

        Raises:
            DiffganError: the folder holds no archive, or a damaged one.
        """
        folder = RunFolder(path)
        if not folder.archive.is_file():
            raise UsageError(f"{path} holds no archive.db: give the folder that a search wrote to.")
        with Archive.open(folder.archive, read_only=True) as archive, archive.snapshot():
            pages = list(archive.stream(*_COLUMNS, size=_PAGE))
            columns = {
                name: np.concatenate([page[name] for page in pages]) if pages else archive.column(name)
                for name in _COLUMNS
            }
            return cls(
                path=path,
                config=_config(folder),
                summary=_mapping(folder.summary()),
                environment=_environment(path),
                spec=archive.image_spec,
                class_names=archive.class_names,
                columns=columns,
                verdicts=archive.verdicts.counts(),
                labels=archive.labels.read(),
            )

    def __len__(self) -> int:
        return len(self.columns["ids"])

    @property
    def name(self) -> str:
        """How the folder is called."""
        return self.path.resolve().name

    @property
    def kept(self) -> NDArray[np.bool_]:
        """For each trigger, whether no filter has rejected it."""
        return self.columns["kept"].astype(np.bool_)

    @cached_property
    def has_labels(self) -> bool:
        """Whether the models answer classes; regression and segmentation have none."""
        return bool((self.columns["label_a"] >= 0).any())

    @property
    def is_filtered(self) -> bool:
        """Whether any filter has spoken."""
        return bool(self.verdicts)

    @property
    def best_rows(self) -> Rows:
        """The kept triggers, or all where none is kept."""
        kept = np.flatnonzero(self.kept)
        return kept if len(kept) else np.arange(len(self))

    @property
    def model_names(self) -> tuple[str, str]:
        """Of A and B, as far as the folder says."""
        named = _mapping(self.summary.get("models"))
        configured = _mapping(self.config.get("models"))

        def name(place: str) -> str:
            source = str(_mapping(configured.get(place)).get("source") or "")
            return str(named.get(place) or Path(source).name or f"model {place.upper()}")

        return name("a"), name("b")

    @property
    def data_name(self) -> str:
        """Of the labelled data, as far as the folder says."""
        return str(self.summary.get("data") or _mapping(self.config.get("data")).get("name") or "unknown data")

    def class_name(self, label: int) -> str:
        """Of a class by its number."""
        if label < 0:
            return "none"
        return self.class_names[label] if self.class_names and label < len(self.class_names) else str(label)

    def triggers(self, rows: Rows) -> StoredTriggers:
        """All that the archive holds of some triggers, in this order."""
        with Archive.open(self.path / "archive.db", read_only=True) as archive:
            return archive.find(self.columns["ids"][rows])

    def dropped_by(self, name: str) -> Rows:
        """The triggers that a filter has rejected."""
        with Archive.open(self.path / "archive.db", read_only=True) as archive:
            said = archive.verdicts.read(name)
        return np.flatnonzero(np.isin(self.columns["ids"], said.ids[~said.passed]))


def section(content: dict[str, Any], name: str) -> dict[str, Any]:
    """A part of a configuration or summary; empty where there is none of that form."""
    return _mapping(content.get(name))


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _config(folder: RunFolder) -> dict[str, Any]:
    try:
        return folder.config()
    except DiffganError:
        return {}


def _environment(path: Path) -> dict[str, Any]:
    try:
        return _mapping(json.loads((path / "environment.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}
