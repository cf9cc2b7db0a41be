"""An archive, written in a form that other tools read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from diffgan.archive.export.imagefolder import write_imagefolder
from diffgan.archive.export.npz import write_npz
from diffgan.archive.export.parquet import write_parquet
from diffgan.archive.export.plan import Plan, Progress
from diffgan.archive.publish import published
from diffgan.archive.store import Archive
from diffgan.errors import UsageError

__all__ = ["FORMS", "Progress", "export"]

_WRITERS: Mapping[str, Callable[[Plan, Path], None]] = {
    "npz": write_npz,
    "imagefolder": write_imagefolder,
    "parquet": write_parquet,
}
FORMS = tuple(_WRITERS)
"""The forms that `export` writes."""


def export(
    archive: Archive, destination: Path, form: str, *, kept_only: bool = False, progress: Progress | None = None
) -> None:
    """Writes the triggers as they stand now; the destination appears whole, or not at all.

    Args:
        archive: what to export; no triggers give a valid, empty export.
        destination: a file, or for `imagefolder` a folder, that does not exist yet.
        form: one of `FORMS`.
        kept_only: leave out what a filter has rejected.
        progress: called with the steps done and the steps in all.

    Raises:
        UsageError: there is no such form.
        ArchiveError: the destination exists, or the disk refuses.
        MissingExtraError: parquet needs a package that is not installed.
    """
    if form not in _WRITERS:
        raise UsageError(f"There is no export form {form!r}; expected one of {', '.join(FORMS)}.")
    with published(destination) as draft, archive.snapshot():
        plan = Plan(archive, kept_only, archive.count(kept_only=kept_only), progress)
        _WRITERS[form](plan, draft)
