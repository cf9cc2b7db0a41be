"""What commands need of a run's folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from diffgan.archive import Archive
from diffgan.errors import UsageError


def archive_path(run: Path) -> Path:
    """The archive in a run's folder.

    Raises:
        UsageError: there is none.
    """
    path = run / "archive.db"
    if not path.is_file():
        given = "is no folder" if not run.is_dir() else "has no archive.db in it"
        raise UsageError(f"{run} {given}, where a run's folder is expected: give the folder that a search wrote to.")
    return path


def run_facts(run: Path) -> dict[str, Any]:
    """What a run's archive holds; `disagreement` is label of A, then label of B, then the count."""
    with Archive.open(archive_path(run), read_only=True) as archive:
        names = archive.class_names

        def name(label: int | None) -> str:
            if label is None:
                return "none"
            return names[label] if names is not None and label < len(names) else str(label)

        nested: dict[str, dict[str, int]] = {}
        for (label_a, label_b), count in archive.disagreement().items():
            row = nested.setdefault(name(label_a), {})
            row[name(label_b)] = row.get(name(label_b), 0) + count
        return {
            "run": str(run),
            "unique triggers": archive.count(),
            "kept": archive.count(kept_only=True),
            "image": str(archive.image_spec),
            "classes": "unnamed" if names is None else len(names),
            "disagreement": nested,
        }
