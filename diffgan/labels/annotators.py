"""Who has labelled something in an archive."""

from __future__ import annotations

from diffgan.archive import Archive
from diffgan.errors import UsageError


def check_annotator(archive: Archive, annotator: str) -> None:
    """Refuses the name of somebody whose labels are asked for, and who has none.

    Raises:
        UsageError: this annotator has labelled nothing.
    """
    known = archive.labels.counts()
    if annotator not in known:
        listed = ", ".join(known) or "nobody"
        raise UsageError(f"{annotator} has labelled nothing in {archive.path}; annotators there: {listed}.")
