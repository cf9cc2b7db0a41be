"""`diffgan export`: a run's triggers in a form that other tools read."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from diffgan.cli.console import print_note, progress


class Form(StrEnum):
    """The forms that triggers are exported to."""

    NPZ = "npz"
    IMAGEFOLDER = "imagefolder"
    PARQUET = "parquet"


def export(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run.")],
    destination: Annotated[
        Path, typer.Argument(metavar="DEST", help="The file or folder to write; it must not exist.")
    ],
    to: Annotated[Form, typer.Option("--to", help="The form to write.")],
    kept: Annotated[bool, typer.Option("--kept", help="Only the triggers that all filters passed.")] = False,
) -> None:
    """Write a run's triggers, in order of discovery, as npz, a folder of images, or parquet."""
    from diffgan.archive import Archive
    from diffgan.archive.export import export as write
    from diffgan.cli.runs import archive_path

    with Archive.open(archive_path(run), read_only=True) as archive:
        count = archive.count(kept_only=kept)
        with progress(f"writing {destination}", count) as advance:
            write(archive, destination, to.value, kept_only=kept, progress=advance)
    print_note(f"{count:,} trigger{'' if count == 1 else 's'} written to {destination}")
