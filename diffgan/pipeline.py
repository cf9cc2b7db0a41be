"""compare(): the run, stage by stage, from data and models to an archive of disagreements."""

from __future__ import annotations

import math
import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from diffgan.archive import Archive
from diffgan.datasets import Dataset, load_dataset
from diffgan.durations import parse_duration
from diffgan.errors import DiffganError
from diffgan.filters.running import Filtered, FilterWishes, check_wishes, filter_run
from diffgan.models.classifier import Classifier
from diffgan.models.evaluation import check_labels_known
from diffgan.models.loading import Source
from diffgan.models.pairs import load_pair
from diffgan.preparation import (
    admission,
    archive_of,
    check_distance,
    check_task,
    discriminator_of,
    divergence_of,
    folder_of,
    generator_of,
    recogniser_of,
    search_setup,
    strategy_settings,
    warm_up,
)
from diffgan.runs import RunFolder, check_place
from diffgan.search.evaluation import Evaluator
from diffgan.search.loop import Moment, Search
from diffgan.search.strategies.protocol import Strategy, StrategySetup
from diffgan.search.strategies.registry import build_strategy, check_settings, needs_generator
from diffgan.summaries import Summary, summarise
from diffgan.wanted import DEFAULT_SECONDS, Wanted, budget_of
from diffgan.watching import Silent, Watcher

#: Seconds of search between two lines of metrics.
LOGGED_EVERY = 5.0


@dataclass(frozen=True, repr=False)
class Comparison:
    """What a comparison came to.

    Attributes:
        folder: the run's.
        summary: what `summary.json` holds.
        filtered: what the filters came to; None where they were not run.
        report: the file; None where it was not written.
    """

    folder: Path
    summary: Summary
    filtered: Filtered | None = None
    report: Path | None = None

    def __repr__(self) -> str:
        """In a line, for notebooks."""
        made = self.summary
        kinds = sum(len(row) for row in made["disagreement"].values())
        return (
            f"<Comparison of {made['models']['a']} and {made['models']['b']} on {made['data']}: {made['unique']:,} "
            f"unique triggers of {kinds} kinds among {made['evaluations']:,} images, in {self.folder}>"
        )

    def archive(self) -> Archive:
        """The triggers, to read; close it after use, or use it in a `with`."""
        return Archive.open(RunFolder(self.folder).archive, read_only=True)


def compare(
    a: Source,
    b: Source,
    *,
    data: str | os.PathLike[str] | Dataset,
    budget: str | float | None = None,
    evaluations: int | None = None,
    queries: int | None = None,
    triggers: int | None = None,
    watcher: Watcher | None = None,
    **wanted: Any,
) -> Comparison:
    """Searches for images on which two classifiers disagree, and keeps them in a run's folder.

    Args:
        a: a model: a file, an address, `py:module:attribute`, or any callable.
        b: the other one.
        data: a name, a path or a dataset: what both models are for.
        budget: of search time, such as `10m` or seconds; ten minutes, where no limit is given.
        evaluations: images to show to both models.
        queries: images to be classified, both models taken together.
        triggers: unique triggers to find.
        watcher: told how it goes.
        **wanted: the fields of `Wanted`: generator, strategy, divergence, min_distance, filters, config, out, resume,
            seed, ...

    Raises:
        DiffganError: something does not fit, in one line; what was found before is kept.
    """
    seconds = parse_duration(budget, "budget") if isinstance(budget, str) else budget
    if seconds is None and evaluations is None and queries is None and triggers is None:
        seconds = DEFAULT_SECONDS
    limits = budget_of(seconds=seconds, evaluations=evaluations, queries=queries, triggers=triggers)
    return run(a, b, Wanted(data=data, budget=limits, **wanted), watcher or Silent())


def run(a: Source, b: Source, wanted: Wanted, watcher: Watcher) -> Comparison:
    """The street: data, models, generator, search, summary, filters, report."""
    started = perf_counter()
    if wanted.out is not None:
        check_place(wanted.out, resume=wanted.resume)
    dataset = wanted.data if isinstance(wanted.data, Dataset) else load_dataset(wanted.data)
    wishes = check_wanted(wanted, dataset)
    models = load_pair(a, b, spec=dataset.spec, options=(wanted.options_a, wanted.options_b))
    divergence = divergence_of(wanted.divergence)
    check_task(divergence.task, models)
    for model in models:
        if divergence.task == "classification":
            check_labels_known(model, dataset.classes, dataset.name)
    generator = generator_of(wanted, dataset, watcher)
    discriminator = discriminator_of(wanted, dataset)
    recognises = recogniser_of(wanted, dataset, divergence.task, watcher)
    folder = folder_of(wanted, dataset, models, generator=generator, discriminator=discriminator)
    with archive_of(folder, dataset, resume=wanted.resume) as archive:
        setup = search_setup(
            wanted,
            dataset,
            archive,
            generator=generator,
            discriminator=discriminator,
            divergence=divergence,
            recognises=recognises,
        )
        strategy = _built(wanted, setup, archive, folder)
        search = Search(
            strategy,
            Evaluator(*models, divergence),
            archive,
            wanted.budget,
            clock=setup.clock,
            stopwatch=setup.stopwatch,
            admit=admission(wanted.min_distance, archive),
        )
        if wanted.resume:
            search.restore()
        ended, preparation = "failed", 0.0
        try:
            warm_up(models, strategy, dataset, generator=generator, batch=wanted.batch, budget=wanted.budget)
            preparation = perf_counter() - started
            with watcher.searching(search, dataset.classes) as watch:
                ended = search.run(_logged(watch, folder))
                folder.log(_entry(search.moment()))
        finally:
            strategy.close()
            facts = {"preparation_seconds": round(preparation, 3), "ended_by": ended}
            summary = summarise(search, strategy, archive, models, dataset, seed=wanted.seed) | facts
            folder.write_summary(summary)
    if ended == "stopped":
        watcher.note(f"Not filtered, and no report yet: {_again(folder, wishes)}, diffgan report {folder.path}")
        return Comparison(folder.path, summary)
    filtered = _filtered(folder, wishes, watcher) if wanted.filters and summary["unique"] else None
    report = _reported(folder, models, dataset, watcher) if wanted.report else None
    return Comparison(folder.path, folder.summary() or summary, filtered, report)


def check_wanted(wanted: Wanted, dataset: Dataset) -> FilterWishes:
    """Tells of a mistake before a model is asked, and before anything is trained.

    Raises:
        DiffganError: something does not fit.
    """
    wishes = FilterWishes(
        config=wanted.config, discriminator=wanted.discriminator, references=wanted.references, data=dataset
    )
    if wanted.filters:
        check_wishes(wishes, dataset)
    needs_generator(wanted.strategy)  # there is one of that name
    check_settings(wanted.strategy, strategy_settings(wanted))
    check_distance(wanted.min_distance)
    return wishes


def _built(wanted: Wanted, setup: StrategySetup, archive: Archive, folder: RunFolder) -> Strategy:
    """The strategy; where it is refused, nothing has begun, and the folder can be had again."""
    try:
        return build_strategy(wanted.strategy, setup)
    except DiffganError:
        archive.close()
        if not wanted.resume:
            folder.discard()
        raise


def _again(folder: RunFolder, wishes: FilterWishes) -> str:
    """The command that filters as this call would."""
    options = {"--config": wishes.config, "--discriminator": wishes.discriminator, "--references": wishes.references}
    given = [part for flag, value in options.items() if value is not None for part in (flag, str(value))]
    return shlex.join(["diffgan", "filter", str(folder.path), *given])


def _filtered(folder: RunFolder, wishes: FilterWishes, watcher: Watcher) -> Filtered | None:
    """The filters' verdicts, outside the budget; what keeps them from it is told, and spoils nothing."""
    later = _again(folder, wishes)
    try:
        with watcher.filtering() as report:
            filtered = filter_run(folder.path, wishes, report)
    except KeyboardInterrupt:
        watcher.note(f"The filters are interrupted; what they found is kept. This goes on: {later}")
        raise
    except DiffganError as error:
        watcher.note(f"The filters ended early: {error} All triggers are kept; again with: {later}")
        return None
    for text in filtered.notes:
        watcher.note(text)
    return filtered


def _reported(
    folder: RunFolder, models: tuple[Classifier, Classifier], dataset: Dataset, watcher: Watcher
) -> Path | None:
    """The report; what keeps it from being written is told, and spoils nothing."""
    from diffgan.report import write_report

    # It looks at samples of its own, and calls of an endpoint may cost money.
    local = None if any(model.remote for model in models) else models
    watcher.note("Writing the report …")
    try:
        return write_report(folder.path, models=local, data=dataset)
    except DiffganError as error:
        watcher.note(f"There is no report: {error} Again with: diffgan report {folder.path}")
        return None


def _logged(watch: Callable[[Moment], None], folder: RunFolder) -> Callable[[Moment], None]:
    """Also leaves a line in the run's metrics now and then."""
    last = -math.inf

    def both(moment: Moment) -> None:
        nonlocal last
        if moment.spent.seconds - last >= LOGGED_EVERY:
            last = moment.spent.seconds
            folder.log(_entry(moment))
        watch(moment)

    return both


def _entry(moment: Moment) -> dict[str, Any]:
    return {**moment.spent.model_dump(), "kinds": len(moment.disagreement), **moment.facts}
