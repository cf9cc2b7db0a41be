"""What a comparison is made of: a generator, a folder, an archive, the strategy's setup."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffgan import configs
from diffgan.archive import Archive
from diffgan.datasets import Dataset
from diffgan.errors import GeneratorError, UsageError
from diffgan.gan_training.cached import cached_generator
from diffgan.gan_training.settings import read_settings
from diffgan.generators.generator import Generator, load_generator
from diffgan.images import ByteImages, to_floats
from diffgan.models.classifier import Classifier
from diffgan.runs import RunFolder, next_folder
from diffgan.search.clock import SearchClock
from diffgan.search.divergence import Divergence, divergence_named
from diffgan.search.loop import Admit
from diffgan.search.stopwatch import Stopwatch
from diffgan.search.strategies.protocol import Strategy, StrategySetup
from diffgan.stats import Packing
from diffgan.wanted import Wanted
from diffgan.watching import Watcher


def divergence_of(wanted: str) -> Divergence:
    """`NAME`, or `NAME:THRESHOLD` for those that take one."""
    name, separate, threshold = wanted.partition(":")
    try:
        return divergence_named(name, **({"threshold": float(threshold)} if separate else {}))
    except ValueError:
        raise UsageError(f"The threshold in --divergence {wanted} is no number: write {name}:0.1, say.") from None


def check_task(task: str, models: tuple[Classifier, Classifier]) -> None:
    for model in models:
        if model.options.task != task:
            raise UsageError(
                f"The divergence is for {task}, but {model.name} answers {model.options.task}: give --divergence one "
                f"of that task, or the option task."
            )


def generator_of(wanted: Wanted, dataset: Dataset, watcher: Watcher) -> Generator:
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


def folder_of(
    wanted: Wanted, dataset: Dataset, models: tuple[Classifier, Classifier], generator: Generator
) -> RunFolder:
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


def archive_of(folder: RunFolder, dataset: Dataset, *, resume: bool) -> Archive:
    if resume and folder.archive.exists():
        return Archive.open(folder.archive)
    return Archive.create(folder.archive, dataset.spec, dataset.classes)


def admission(distance: float | None, archive: Archive) -> Admit | None:
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


def search_setup(
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


def warm_up(generator: Generator, models: tuple[Classifier, Classifier], strategy: Strategy, batch: int) -> None:
    """What is slow the first time only is done before the search clock starts; no random draw of the search is used."""
    rng = np.random.default_rng(0)
    for _ in range(2):
        images = generator.sample(batch, rng)[0]
    for model in models:
        # Calls of an endpoint may cost money.
        if "://" not in model.source:
            model.predict(to_floats(images))
    strategy.warm_up()
