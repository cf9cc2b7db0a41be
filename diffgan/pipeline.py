"""compare(): the run, stage by stage, from data and models to an archive of disagreements."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffgan import configs
from diffgan.archive import Archive
from diffgan.datasets import Dataset, load_dataset
from diffgan.durations import parse_duration
from diffgan.errors import GeneratorError, UsageError
from diffgan.gan_training.cached import cached_generator
from diffgan.gan_training.settings import read_settings
from diffgan.generators.generator import Generator, load_generator
from diffgan.images import ByteImages, to_floats
from diffgan.models.classifier import Classifier
from diffgan.models.evaluation import check_labels_known
from diffgan.models.loading import Source
from diffgan.models.pairs import load_pair
from diffgan.runs import RunFolder, next_folder
from diffgan.search.budgets import Budget
from diffgan.search.clock import SearchClock
from diffgan.search.divergence import DEFAULT as DEFAULT_DIVERGENCE
from diffgan.search.divergence import Divergence, divergence_named
from diffgan.search.evaluation import Evaluator
from diffgan.search.loop import Admit, Moment, Search
from diffgan.search.stopwatch import Stopwatch
from diffgan.search.strategies.protocol import DEFAULT_BATCH, Strategy, StrategySetup
from diffgan.search.strategies.registry import build_strategy
from diffgan.stats import Packing
from diffgan.summaries import Summary, summarise
from diffgan.watching import Silent, Watcher

DEFAULT_SECONDS = 600.0

#: Seconds of search between two lines of metrics.
LOGGED_EVERY = 5.0


@dataclass(frozen=True, repr=False)
class Comparison:
    """What a comparison came to.

    Attributes:
        folder: the run's.
        summary: what `summary.json` holds.
    """

    folder: Path
    summary: Summary

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


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Everything that a comparison may be asked for; the fields are `compare`'s arguments."""

    data: str | os.PathLike[str] | Dataset
    generator: str | os.PathLike[str] | None = None
    strategy: str = "nsga2"
    settings: Mapping[str, Any] = field(default_factory=dict)
    divergence: str = DEFAULT_DIVERGENCE
    budget: Budget = field(default_factory=Budget)
    min_distance: float | None = None
    config: str | None = None
    out: Path | None = None
    resume: bool = False
    seed: int = 0
    batch: int = DEFAULT_BATCH
    options_a: Mapping[str, Any] | None = None
    options_b: Mapping[str, Any] | None = None


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
        **wanted: the fields of `Wanted`: generator, strategy, divergence, min_distance, config, out, resume, seed, ...

    Raises:
        DiffganError: something does not fit, in one line; what was found before is kept.
    """
    seconds = parse_duration(budget, "budget") if isinstance(budget, str) else budget
    if seconds is None and evaluations is None and queries is None and triggers is None:
        seconds = DEFAULT_SECONDS
    limits = budget_of(seconds=seconds, evaluations=evaluations, queries=queries, triggers=triggers)
    return run(a, b, Wanted(data=data, budget=limits, **wanted), watcher or Silent())


def budget_of(**limits: float | None) -> Budget:
    """Limits, checked.

    Raises:
        UsageError: one is not above 0.
    """
    for name, limit in limits.items():
        if limit is not None and not limit > 0:
            raise UsageError(f"A budget of {limit} {name} ends before it begins: give more than 0.")
    return Budget.model_validate(limits)


def run(a: Source, b: Source, wanted: Wanted, watcher: Watcher) -> Comparison:
    """The street: data, models, generator, search, summary."""
    started = perf_counter()
    dataset = wanted.data if isinstance(wanted.data, Dataset) else load_dataset(wanted.data)
    models = load_pair(a, b, spec=dataset.spec, options=(wanted.options_a, wanted.options_b))
    divergence = _divergence(wanted.divergence)
    _check_task(divergence.task, models)
    for model in models:
        if divergence.task == "classification":
            check_labels_known(model, dataset.classes, dataset.name)
    generator = _generator(wanted, dataset, watcher)
    folder = _folder(wanted, dataset, models, generator)
    with _archive(folder, dataset, resume=wanted.resume) as archive:
        setup = _setup(wanted, dataset, generator, divergence, archive)
        strategy = build_strategy(wanted.strategy, setup)
        search = Search(
            strategy,
            Evaluator(*models, divergence),
            archive,
            wanted.budget,
            clock=setup.clock,
            stopwatch=setup.stopwatch,
            admit=_admit(wanted.min_distance, archive),
        )
        if wanted.resume:
            search.restore()
        ended, preparation = "failed", 0.0
        try:
            _warm_up(generator, models, strategy, wanted.batch)
            preparation = perf_counter() - started
            with watcher.searching(search, dataset.classes) as watch:
                ended = search.run(_logged(watch, folder))
                folder.log(_entry(search.moment()))
        finally:
            strategy.close()
            facts = {"preparation_seconds": round(preparation, 3), "ended_by": ended}
            summary = summarise(search, strategy, archive, models, dataset, seed=wanted.seed) | facts
            folder.write_summary(summary)
    return Comparison(folder.path, summary)


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


def _divergence(wanted: str) -> Divergence:
    """`NAME`, or `NAME:THRESHOLD` for those that take one."""
    name, separate, threshold = wanted.partition(":")
    try:
        return divergence_named(name, **({"threshold": float(threshold)} if separate else {}))
    except ValueError:
        raise UsageError(f"The threshold in --divergence {wanted} is no number: write {name}:0.1, say.") from None


def _check_task(task: str, models: tuple[Classifier, Classifier]) -> None:
    for model in models:
        if model.options.task != task:
            raise UsageError(
                f"The divergence is for {task}, but {model.name} answers {model.options.task}: give --divergence one "
                f"of that task, or the option task."
            )


def _generator(wanted: Wanted, dataset: Dataset, watcher: Watcher) -> Generator:
    if wanted.generator is not None:
        generator = load_generator(wanted.generator)
        _check_generator(generator, dataset)
        if generator.data is not None and generator.data != dataset.fingerprint:
            watcher.note(
                f"{generator.name} was trained on other data than {dataset.name}: its images may be no fair test."
            )
        return generator
    settings = read_settings(wanted.config, dataset.name)
    with watcher.training() as report:
        made = cached_generator(dataset, settings, seed=wanted.seed, report=report)
    if made.reused:
        watcher.note(f"Using the generator trained earlier on {dataset.name} (cache: {made.folder}).")
    return load_generator(made.folder)


def _check_generator(generator: Generator, dataset: Dataset) -> None:
    if generator.spec != dataset.spec:
        raise GeneratorError(
            f"{generator.name} makes images of {generator.spec}, but {dataset.name} has {dataset.spec}: give a "
            "generator of this data, or leave --generator out to have one trained."
        )
    if generator.classes is not None and generator.classes > len(dataset.classes):
        raise GeneratorError(
            f"{generator.name} takes {generator.classes} classes, but {dataset.name} has {len(dataset.classes)}: give "
            "a generator of this data."
        )


def _folder(wanted: Wanted, dataset: Dataset, models: tuple[Classifier, Classifier], generator: Generator) -> RunFolder:
    path = wanted.out or next_folder(Path("runs"), "compare")
    config = {
        "models": {
            place: {
                "source": model.source,
                "fingerprint": model.fingerprint,
                "options": model.options.model_dump(mode="json"),
            }
            for place, model in zip("ab", models, strict=True)
        },
        "data": {"name": dataset.name, "fingerprint": dataset.fingerprint},
        "generator": {"name": generator.name, "source": generator.source, "fingerprint": generator.fingerprint},
        "strategy": {"name": wanted.strategy, "settings": dict(wanted.settings)},
        "divergence": wanted.divergence,
        "min_distance": wanted.min_distance,
        "batch": wanted.batch,
        "seed": wanted.seed,
        "budget": wanted.budget.model_dump(exclude_none=True),
    }
    return RunFolder.reopen(path, config) if wanted.resume else RunFolder.create(path, config)


def _archive(folder: RunFolder, dataset: Dataset, *, resume: bool) -> Archive:
    if resume and folder.archive.exists():
        return Archive.open(folder.archive)
    return Archive.create(folder.archive, dataset.spec, dataset.classes)


def _admit(distance: float | None, archive: Archive) -> Admit | None:
    """Keeps near-duplicates of what is archived out."""
    if distance is None:
        return None
    from threadpoolctl import ThreadpoolController

    if not 0 < distance < 1:
        raise UsageError(f"--min-distance is a cosine distance above 0 and below 1, not {distance}.")
    packing = Packing([distance])
    for page in archive.stream("images"):
        packing.add([page["images"]])
    numpy = ThreadpoolController().select(user_api="blas")

    def admit(images: ByteImages) -> NDArray[np.bool_]:
        with numpy.limit(limits=1):  # a second thread of numpy's gets in the way of the models', see `Nearest`
            return packing.add([images])

    return admit


def _timed(generator: Generator, stopwatch: Stopwatch) -> Generator:
    """The same generator; the stopwatch knows when it works."""

    def network(latents: Tensor, labels: Tensor | None) -> Tensor:
        with stopwatch.measure("generator"):
            return generator.network(latents, labels)

    return replace(generator, network=network)


def _setup(
    wanted: Wanted, dataset: Dataset, generator: Generator, divergence: Divergence, archive: Archive
) -> StrategySetup:
    stopwatch = Stopwatch()
    configured = {} if wanted.config is None else configs.read_named(wanted.config).get("search") or {}
    return StrategySetup(
        generator=_timed(generator, stopwatch),
        images=dataset.images,
        labels=dataset.labels,
        seed=wanted.seed,
        settings={**configured, **wanted.settings},
        batch_size=wanted.batch,
        divergence=divergence,
        recall=lambda places: archive.images_at(places + 1),
        stopwatch=stopwatch,
        clock=SearchClock(wanted.budget.seconds),
    )


def _warm_up(generator: Generator, models: tuple[Classifier, Classifier], strategy: Strategy, batch: int) -> None:
    """What is slow the first time only is done before the search clock starts; no random draw of the search is used."""
    rng = np.random.default_rng(0)
    for _ in range(2):
        images = generator.sample(batch, rng)[0]
    for model in models:
        # Calls of an endpoint may cost money.
        if "://" not in model.source:
            model.predict(to_floats(images))
    strategy.warm_up()
