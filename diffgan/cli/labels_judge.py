"""`diffgan labels judge`: models label all triggers."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from diffgan.cli.console import percent, print_facts, print_note, progress, stray_output_aside
from diffgan.cli.labels_files import Run, archive_of

if TYPE_CHECKING:
    from diffgan.archive import Archive
    from diffgan.datasets import Dataset
    from diffgan.models import Classifier


class HowToAgree(StrEnum):
    """How several judges come to one label."""

    MEAN = "mean"
    MAJORITY = "majority"


Judges = Annotated[
    list[str], typer.Option("--judge", metavar="MODEL", help="A model that judges; repeat it for several.")
]
Data = Annotated[
    str | None, typer.Option("--data", metavar="DATA", help="In place of the run's own: real images to set limits by.")
]


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

    path = archive_of(run)
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
    if said.replaced:
        facts["former labels"] = f"{said.replaced:,} under this name, replaced"
    facts["confidence of valid"] = "above " + ", ".join(f"{limit:.4f}" for limit in said.thresholds)
    print_facts(f"Labels by {said.annotator}", facts)


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


def _part(count: int, whole: int) -> str:
    return f"{count:,} ({percent(count / whole)})" if whole else f"{count:,}"
