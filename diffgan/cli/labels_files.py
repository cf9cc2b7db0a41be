"""`diffgan labels import` and `export`: labels from files and to files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import print_note, progress

if TYPE_CHECKING:
    from diffgan.archive import Archive
    from diffgan.labels import Imported, Tasks
    from diffgan.labels.files import Form as WrittenForm


class FileForm(StrEnum):
    """The forms of files with labels."""

    CSV = "csv"
    LABEL_STUDIO = "label-studio"


Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or its archive.db.")]
Form = Annotated[
    FileForm | None, typer.Option("--format", help="By the file's ending by default: .json is label-studio.")
]


def import_(
    run: Run,
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A CSV file: id, label, annotator; or an export of Label Studio.")
    ],
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="Who labelled, for a file that does not say.")
    ] = None,
    rename: Annotated[
        list[str] | None,
        typer.Option("--rename", metavar="OLD=NEW", help="Another name for an annotator of the file; repeatable."),
    ] = None,
    form: Form = None,
) -> None:
    """Take in labels from a file: all of them, or none where one does not fit."""
    from diffgan import labels
    from diffgan.archive import Archive

    named = dict(_renamed(text) for text in rename or [])
    with Archive.open(archive_of(run)) as archive:
        done = labels.import_labels(archive, file, annotator=annotator, form=_form(file, form), rename=named)
    _show_imported(done)


def export(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write; it must not exist.")],
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="Only the labels of this one.")
    ] = None,
    form: Form = None,
    kept: Annotated[bool, typer.Option("--kept", help="Label Studio: only triggers that all filters passed.")] = False,
    only_conflicts: Annotated[
        bool, typer.Option("--conflicts", help="Label Studio: only triggers whose labels conflict.")
    ] = False,
    sample: Annotated[
        int | None, typer.Option("--sample", metavar="N", help="Label Studio: only so many, at random.")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", min=0, metavar="N", help="Of the sample.")] = 0,
    blank: Annotated[bool, typer.Option("--blank", help="Label Studio: without the labels that there are.")] = False,
) -> None:
    """Write the labels to a CSV file, or the triggers with theirs as tasks for Label Studio (.json)."""
    from diffgan import labels
    from diffgan.archive import Archive
    from diffgan.errors import UsageError

    if blank and annotator is not None:
        raise UsageError(f"--blank leaves all labels out, those of --annotator {annotator} too: give one of the two.")
    tasks = labels.Tasks(
        kept_only=kept, conflicts_only=only_conflicts, sample=sample, seed=seed, annotator=annotator, blank=blank
    )
    with Archive.open(archive_of(run), read_only=True) as archive:
        if _form(file, form) is labels.Form.LABEL_STUDIO:
            _export_tasks(archive, file, tasks)
            return
        if kept or only_conflicts or sample is not None or blank:
            raise UsageError(
                f"--kept, --conflicts, --sample and --blank choose tasks for Label Studio: name a .json, not {file}."
            )
        count = labels.export_labels(archive, file, annotator=annotator)
    print_note(f"{counted(count, 'label')} written to {file}")


def archive_of(run: Path) -> Path:
    """The archive of a run's folder, or the one that was named itself."""
    from diffgan.cli.runs import archive_path

    return archive_path(run.parent if run.name == "archive.db" and run.is_file() else run)


def counted(count: int, what: str) -> str:
    """So many of something.

    Example:
        >>> counted(1, "label"), counted(2000, "label")
        ('1 label', '2,000 labels')
    """
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _form(file: Path, given: FileForm | None) -> WrittenForm:
    from diffgan.labels.files import Form as WrittenForm
    from diffgan.labels.files import form_of

    return form_of(file) if given is None else WrittenForm(given.value)


def _renamed(text: str) -> tuple[str, str]:
    from diffgan.errors import UsageError

    old, sign, new = (part.strip() for part in text.partition("="))
    if not (old and sign and new):
        raise UsageError(f"--rename {text!r} is no OLD=NEW: write, say, --rename 'user 1=ann'.")
    return old, new


def _export_tasks(archive: Archive, file: Path, tasks: Tasks) -> None:
    from diffgan.labels.label_studio_export import configuration_path, write_tasks

    with progress(f"writing {file}", archive.count()) as advance:
        done = write_tasks(archive, file, tasks, progress=advance)
    said = f"{counted(done.labels, 'label')} and {counted(done.predictions, 'prediction')} of judges"
    print_note(f"{counted(done.tasks, 'task')} with {said} written to {file}")
    print_note(f"The labelling interface for the project is in {configuration_path(file)}")
    if done.strangers:
        print_note(
            f"Label Studio refuses labels by names that are no e-mail of its users ({', '.join(done.strangers[:5])}): "
            "to label these triggers there, export them with --blank."
        )


def _show_imported(done: Imported) -> None:
    total = sum(done.labels.values())
    by = ", ".join(f"{count:,} by {name}" for name, count in done.labels.items())
    print_note(f"{counted(total, 'label')} in the file{f': {by}' if by else ''}.")
    same = total - done.new - done.changed
    print_note(f"{done.new:,} new, {done.changed:,} changed, {same:,} already there.")
    if done.repeated:
        print_note(
            f"{counted(done.repeated, 'row')} gave way to a later one on the same trigger by the same annotator."
        )
    if done.passed_over:
        listed = ", ".join(f"{what} ({count:,})" for what, count in done.passed_over.items())
        print_note(f"Passed over: {listed}.")
