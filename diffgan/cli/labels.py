"""`diffgan labels`: what people and judges say that triggers show, in and out."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import percent, print_facts, print_note, progress, stray_output_aside

if TYPE_CHECKING:
    from diffgan.archive import Archive
    from diffgan.datasets import Dataset
    from diffgan.labels import Imported
    from diffgan.models import Classifier

app = typer.Typer(help="Labels of triggers: from files, to files, and from judges.", no_args_is_help=True)


class HowToAgree(StrEnum):
    """How several judges come to one label."""

    MEAN = "mean"
    MAJORITY = "majority"


Run = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or its archive.db.")]
File = Annotated[Path, typer.Argument(metavar="FILE", help="A CSV file: id, label, annotator.")]
Judges = Annotated[
    list[str], typer.Option("--judge", metavar="MODEL", help="A model that judges; repeat it for several.")
]
Data = Annotated[
    str | None, typer.Option("--data", metavar="DATA", help="In place of the run's own: real images to set limits by.")
]


@app.command("import")
def import_(
    run: Run,
    file: File,
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="Who labelled, for a file that does not say.")
    ] = None,
) -> None:
    """Take in labels from a CSV file: all of them, or none where one does not fit."""
    from diffgan.archive import Archive
    from diffgan.labels import import_labels

    with Archive.open(_archive(run)) as archive:
        done = import_labels(archive, file, annotator=annotator)
    _show_imported(done)


@app.command("export")
def export(
    run: Run,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The CSV file to write; it must not exist.")],
    annotator: Annotated[
        str | None, typer.Option("--annotator", metavar="NAME", help="Only the labels of this one.")
    ] = None,
) -> None:
    """Write the labels, in order of discovery, to a CSV file."""
    from diffgan.archive import Archive
    from diffgan.labels import export_labels

    with Archive.open(_archive(run), read_only=True) as archive:
        count = export_labels(archive, file, annotator=annotator)
    print_note(f"{_counted(count, 'label')} written to {file}")


@app.command("judge")
def judge(
    run: Run,
    judges: Judges,
    rule: Annotated[HowToAgree, typer.Option("--rule", help="How several judges come to one label.")] = HowToAgree.MEAN,
    data: Data = None,
) -> None:
    """Let models label all triggers, under their own names.

    mean: the class with the greatest mean probability, and invalid where that is at or below its 5 % quantile on
    the run's data. majority: each judge votes so by itself, and a label needs more than half of the votes.
    """
    from diffgan.archive import Archive
    from diffgan.labels.judging import Rule, judge_triggers

    path = _archive(run)
    with stray_output_aside(), Archive.open(path) as archive:
        real = _data(archive, path.parent, data)
        models = _judges(judges, real)
        _note_models_under_test(path.parent, models)
        with progress("judging", len(models) * (len(real) + archive.count())) as advance:
            said = judge_triggers(archive, models, real, rule=Rule(rule.value), progress=advance)
    facts = {"triggers": f"{said.triggers:,}", "valid": _part(said.valid, said.triggers)}
    facts |= {"invalid": _part(said.invalid, said.triggers)}
    if said.conflicts:
        facts["conflicts"] = f"{_part(said.conflicts, said.triggers)}, not labelled"
    facts["confidence of valid"] = "above " + ", ".join(f"{limit:.4f}" for limit in said.thresholds)
    print_facts(f"Labels by {said.annotator}", facts)


def _archive(run: Path) -> Path:
    from diffgan.cli.runs import archive_path

    return archive_path(run.parent if run.name == "archive.db" and run.is_file() else run)


def _show_imported(done: Imported) -> None:
    total = sum(done.labels.values())
    by = ", ".join(f"{count:,} by {name}" for name, count in done.labels.items())
    print_note(f"{_counted(total, 'label')} in the file{f': {by}' if by else ''}.")
    same = total - done.new - done.changed
    print_note(f"{done.new:,} new, {done.changed:,} changed, {same:,} already there.")
    if done.repeated:
        print_note(
            f"{_counted(done.repeated, 'row')} gave way to a later one on the same trigger by the same annotator."
        )


def _data(archive: Archive, folder: Path, given: str | None) -> Dataset:
    from diffgan.datasets import load_dataset
    from diffgan.labels.judging import check_data
    from diffgan.labels.origins import is_run_data, run_data

    data = run_data(folder) if given is None else load_dataset(given)
    check_data(archive, data)
    if given is not None and not is_run_data(folder, data):
        print_note(f"{data.name} is not the data of this run, as far as its folder says: the judges' limits are by it.")
    return data


def _judges(sources: list[str], data: Dataset) -> list[Classifier]:
    from diffgan.errors import UsageError
    from diffgan.models import load_classifier
    from diffgan.models.evaluation import check_labels_known

    models: list[Classifier] = []
    for source, name in zip(sources, _names(sources), strict=True):
        model = load_classifier(source, spec=data.spec, name=name, origin="--judge")
        check_labels_known(model, data.classes, data.name)
        for other in models:
            if other.fingerprint == model.fingerprint:
                raise UsageError(f"--judge {source} is the same model as {other.source}: give each judge once.")
        models.append(model)
    return models


def _names(sources: list[str]) -> list[str | None]:
    """Files of one name are called by their paths, so that the labels tell who gave them."""
    endings = [Path(source).name for source in sources]
    return [source if endings.count(ending) > 1 else None for source, ending in zip(sources, endings, strict=True)]


def _note_models_under_test(folder: Path, models: list[Classifier]) -> None:
    from diffgan.labels.origins import models_under_test

    for name in models_under_test(folder, models):
        print_note(
            f"{name} is one of the two models of this run: as a judge it finds itself right. These labels cannot say "
            "which of the two is."
        )


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _part(count: int, whole: int) -> str:
    return f"{count:,} ({percent(count / whole)})" if whole else f"{count:,}"
