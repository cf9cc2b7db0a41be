"""check(): replay what is known, search for what is new, and say whether the new model may go out."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from diffgan import pipeline
from diffgan.archive import Archive
from diffgan.check.finds import label_finds, open_judges, save_finds
from diffgan.check.outcomes import ask
from diffgan.check.outputs import prepare_file, write_examples, write_regressions, write_text
from diffgan.check.policy import Policy, read_allowed, remarks_on_allowed
from diffgan.check.result import Replayed, Result, remarks_on_data, remarks_on_judge
from diffgan.check.suites import Suite, check_destination, read_suite
from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import UsageError
from diffgan.features.judge import Judge
from diffgan.generators.generator import load_generator
from diffgan.images import image_ids
from diffgan.models.classifier import Classifier
from diffgan.models.evaluation import check_labels_known
from diffgan.models.loading import Source
from diffgan.models.pairs import load_pair
from diffgan.preparation import check_generator, check_task
from diffgan.runs import RunFolder, check_place, next_folder
from diffgan.search.divergence import divergence_named
from diffgan.wanted import Wanted
from diffgan.watching import Silent, Watcher

#: What the search of a check maximises, and how long it takes where no limit is given.
DIVERGENCE, DEFAULT_SECONDS = "worsening", 120.0

#: Of `nsga2`, where nothing else is asked for. What regresses has a `worsening` of 1 or more: nothing else is a find.
WIDE = {"least": 1.0, "cell_share": 0.05}


@dataclass(frozen=True, kw_only=True)
class GateWishes:
    """Everything that a check may be asked for, beside the models.

    Attributes:
        wanted: of the search, as for a comparison.
        suites: folders of runs or saved suites, replayed first.
        judges: models that label what the search finds.
        allow: a file of ids that may regress.
        max_rate: see `Policy`.
        max_regressions: see `Policy`.
        save_suite: where to save a suite of all that is known afterwards.
        junit: where to write a JUnit file.
        summary: where to write a summary in Markdown.
    """

    wanted: Wanted
    suites: Sequence[Path] = ()
    judges: Sequence[Source] = ()
    allow: Path | None = None
    max_rate: float | None = None
    max_regressions: int | None = None
    save_suite: Path | None = None
    junit: Path | None = None
    summary: Path | None = None


@dataclass(frozen=True)
class Checked:
    """What a check came to.

    Attributes:
        folder: of its run.
        result: counts, examples and the verdict; None where the search was stopped.
        summary: what `summary.json` holds.
        notes: what a reader should know beside.
    """

    folder: Path
    result: Result | None
    summary: dict[str, Any]
    notes: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        """Whether the new model may go out."""
        return self.result is not None and self.result.passed


def check(old: Source, new: Source, wishes: GateWishes, watcher: Watcher | None = None) -> Checked:
    """Checks a new model against the old one.

    Args:
        old: the model that is in use.
        new: the one that is to replace it.
        wishes: data, suites, judges, policy, limits of the search, and what to write.
        watcher: told how it goes.

    Raises:
        DiffganError: something does not fit, in one line.
    """
    watcher = watcher or Silent()
    policy = _policy(wishes)
    _prepare_outputs(wishes)
    if wishes.wanted.out is not None:
        check_place(wishes.wanted.out, resume=wishes.wanted.resume)
    data = _data(wishes.wanted.data)
    wanted = replace(wishes.wanted, data=data, divergence=DIVERGENCE, settings=_settings(wishes.wanted), report=False)
    pipeline.check_wanted(wanted, data)
    if wanted.generator is not None:
        check_generator(load_generator(wanted.generator), data)
    models = _models(old, new, wanted, data)
    suites = [read_suite(path, data) for path in wishes.suites]
    judges = open_judges(wishes.judges, data, models)
    # One that cannot judge is told of before the search.
    judge = Judge.calibrate(judges, data.images, distances=False) if judges else None
    on_data = ask(models, image_ids(data.images), data.images, data.labels)
    replayed = [Replayed(suite, suite.replay(models)) for suite in suites]
    notes = [
        *remarks_on_data(models, data, on_data),
        *([] if judge is None else remarks_on_judge(judge, data)),
        *_remarks_on_suites(suites, data),
    ]
    for text in notes:
        watcher.note(text)
    out = wanted.out or next_folder(Path("runs"), "check")
    made = pipeline.run(*models, replace(wanted, out=out), watcher)
    if made.summary["ended_by"] == "stopped":
        return Checked(made.folder, None, made.summary, tuple(notes))
    folder = RunFolder(made.folder)
    finds, machine = label_finds(folder.archive, judge, data, suites=suites)
    for text in (useless := remarks_on_allowed(policy, [*(part.answers for part in replayed), finds])):
        watcher.note(text)
    notes += useless
    with Archive.open(folder.archive, read_only=True) as archive:
        kept = frozenset(archive.column("ids", kept_only=True).tolist())
    result = Result(
        models=models,
        data=data,
        on_data=on_data,
        replayed=replayed,
        finds=finds,
        kept=kept,
        judges=[judge.name for judge in judges],
        policy=policy,
        notes=notes,
        search=_search_facts(folder, made.summary),
    )
    old_asked, new_asked = (model.queries for model in models)
    asked = {"old": old_asked, "new": new_asked, "judges": [judge.queries for judge in judges]}
    summary = made.summary | {"check": result.as_json(), "asked": asked}
    _write(result, wishes, folder, summary, machine)
    return Checked(made.folder, result, summary, tuple(notes))


def _settings(wanted: Wanted) -> Mapping[str, Any]:
    chosen = wanted.settings or wanted.config is not None or wanted.strategy != "nsga2"
    return wanted.settings if chosen else WIDE


def _policy(wishes: GateWishes) -> Policy:
    if wishes.max_regressions is not None and not wishes.judges:
        raise UsageError(
            "--max-regressions counts finds that a judge has labelled: give --judge, too, or leave it out."
        )
    allowed = frozenset[int]() if wishes.allow is None else read_allowed(wishes.allow)
    return Policy(allow=allowed, max_rate=wishes.max_rate, max_regressions=wishes.max_regressions)


def _prepare_outputs(wishes: GateWishes) -> None:
    """What cannot be written is told before anything that takes long."""
    for flag, path in (("--junit", wishes.junit), ("--summary", wishes.summary)):
        if path is not None:
            prepare_file(flag, path)
    if wishes.save_suite is not None:
        check_destination(wishes.save_suite)


def _data(named: str | os.PathLike[str] | Dataset) -> Dataset:
    return named if isinstance(named, Dataset) else load_dataset(named)


def _models(old: Source, new: Source, wanted: Wanted, data: Dataset) -> tuple[Classifier, Classifier]:
    models = load_pair(old, new, spec=data.spec, options=(wanted.options_a, wanted.options_b))
    check_task(divergence_named(DIVERGENCE).task, models)
    for model in models:
        check_labels_known(model, data.classes, data.name)
    return models


def _remarks_on_suites(suites: Sequence[Suite], data: Dataset) -> list[str]:
    notes = []
    for suite in suites:
        if not suite.labelled:
            notes.append(
                f"{suite.name} has no labels, so nothing in it can fail the check: label it (diffgan label, or diffgan "
                "labels judge)."
            )
        if suite.data is not None and suite.data != data.fingerprint:
            notes.append(f"{suite.name} was found for other data than {data.name}: it is replayed all the same.")
    return notes


def _search_facts(folder: RunFolder, summary: dict[str, Any]) -> dict[str, Any]:
    """What of the search the verdict depends on, and no time: equal for equal inputs under a limit of evaluations."""
    generator = folder.config()["generator"]
    named = generator and {"name": generator["name"], "fingerprint": generator["fingerprint"]}
    return {
        "generator": named,
        "strategy": summary["strategy"],
        "divergence": DIVERGENCE,
        "seed": summary["seed"],
        "evaluations": summary["evaluations"],
        "ended_by": summary["ended_by"],
    }


def _write(
    result: Result, wishes: GateWishes, folder: RunFolder, summary: dict[str, Any], machine: frozenset[int]
) -> None:
    from diffgan.check.junit import as_junit
    from diffgan.check.markdown import as_markdown

    folder.write_summary(summary)
    write_examples(result, folder)
    write_regressions(result, folder)
    if wishes.save_suite is not None:
        save_finds(
            wishes.save_suite,
            result.data,
            archive_path=folder.archive,
            answers=result.finds,
            machine=machine,
            kept=result.kept,
            suites=[part.suite for part in result.replayed],
        )
    if wishes.junit is not None:
        write_text("--junit", wishes.junit, as_junit(result))
    if wishes.summary is not None:
        write_text("--summary", wishes.summary, as_markdown(result))
