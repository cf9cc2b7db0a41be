"""What a comparison is made of: a generator, a folder, an archive, the strategy's setup."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from diffgan import configs
from diffgan.archive import Archive
from diffgan.datasets import Dataset
from diffgan.errors import DataError, GeneratorError, UsageError
from diffgan.filters.lean import lean_recogniser
from diffgan.gan_training.cached import cached_generator
from diffgan.gan_training.settings import read_settings
from diffgan.generators.artifact import has_discriminator
from diffgan.generators.discriminator import Discriminator, load_discriminator
from diffgan.generators.generator import Generator, load_generator
from diffgan.images import ByteImages, to_floats
from diffgan.models.classifier import Classifier
from diffgan.runs import RunFolder, next_folder
from diffgan.search.budgets import Budget, Spent
from diffgan.search.clock import SearchClock
from diffgan.search.divergence import Divergence, divergence_named
from diffgan.search.loop import Admit
from diffgan.search.stopwatch import Stopwatch
from diffgan.search.strategies.protocol import Strategy, StrategySetup
from diffgan.search.strategies.registry import asks_recogniser, needs_discriminator, needs_generator
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
                f"The divergence is for {task}, but {model.name} answers {model.options.task}, as all do so far: "
                "give --divergence one of that task."
            )


def generator_of(wanted: Wanted, dataset: Dataset, watcher: Watcher) -> Generator | None:
    """The generator asked for; else, where the strategy cannot do without, one that is trained now or was before."""
    if wanted.generator is not None:
        generator = load_generator(wanted.generator)
        check_generator(generator, dataset)
        if generator.data is not None and generator.data != dataset.fingerprint:
            watcher.note(
                f"{generator.name} was trained on other data than {dataset.name}: its images may be no fair test."
            )
        return generator
    if not needs_generator(wanted.strategy):
        return None
    settings = read_settings(wanted.config, dataset.name)
    # A generator belongs to the data: searches with other seeds share it.
    with watcher.training() as report:
        made = cached_generator(dataset, settings, report=report)
    if made.reused:
        watcher.note(f"Using the generator trained earlier on {dataset.name} (cache: {made.folder}).")
    return load_generator(made.folder)


def discriminator_of(wanted: Wanted, dataset: Dataset) -> Discriminator | None:
    """The one asked for, else the generator's own; None where the strategy asks none, or there is none."""
    if not needs_discriminator(wanted.strategy):
        return None
    folder = wanted.discriminator
    if folder is None and wanted.generator is not None and has_discriminator(Path(wanted.generator)):
        folder = Path(wanted.generator)
    return None if folder is None else fitting_discriminator(folder, dataset)


def fitting_discriminator(folder: Path, dataset: Dataset) -> Discriminator:
    """The discriminator of a folder of `gan train`.

    Raises:
        GeneratorError: the folder holds none, or one of other images.
    """
    discriminator = load_discriminator(folder)
    if discriminator.spec != dataset.spec:
        raise GeneratorError(
            f"The discriminator of {discriminator.name} takes images of {discriminator.spec}, but {dataset.name} has "
            f"{dataset.spec}: give one that was trained on this data."
        )
    return discriminator


def recogniser_of(
    wanted: Wanted, dataset: Dataset, task: str, watcher: Watcher
) -> Callable[[ByteImages], NDArray[np.bool_]] | None:
    """Lean classifiers that say what looks valid; None where the strategy asks none, or the data does not allow any."""
    if task != "classification" or not asks_recogniser(wanted.strategy):
        return None
    watcher.note(f"Two lean classifiers of {dataset.name} are to say what looks valid (trained once, then cached) …")
    try:
        return lean_recogniser(dataset)
    except DataError as error:
        watcher.note(f"The search takes all triggers for valid: {error}")
        return None


def check_generator(generator: Generator, dataset: Dataset) -> None:
    """Refuses a generator of other images, or of more classes.

    Raises:
        GeneratorError: it is one.
    """
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
    wanted: Wanted,
    dataset: Dataset,
    models: tuple[Classifier, Classifier],
    *,
    generator: Generator | None,
    discriminator: Discriminator | None,
) -> RunFolder:
    path = wanted.out or next_folder(Path("runs"), "compare")
    config: dict[str, Any] = {
        "models": {
            place: {
                "source": model.source,
                "fingerprint": model.fingerprint,
                "options": model.options.model_dump(mode="json"),
            }
            for place, model in zip("ab", models, strict=True)
        },
        "data": {"name": dataset.name, "fingerprint": dataset.fingerprint},
        "generator": None if generator is None else _described(generator),
        "strategy": {"name": wanted.strategy, "settings": strategy_settings(wanted)},
        "divergence": wanted.divergence,
        "min_distance": wanted.min_distance,
        "batch": wanted.batch,
        "seed": wanted.seed,
        "budget": wanted.budget.model_dump(exclude_none=True),
    }
    if discriminator is not None:
        config["discriminator"] = {"name": discriminator.name, "fingerprint": discriminator.fingerprint}
    return RunFolder.reopen(path, config) if wanted.resume else RunFolder.create(path, config)


def _described(generator: Generator) -> dict[str, Any]:
    return {"name": generator.name, "source": generator.source, "fingerprint": generator.fingerprint}


def archive_of(folder: RunFolder, dataset: Dataset, *, resume: bool) -> Archive:
    if resume and folder.archive.exists():
        return Archive.open(folder.archive)
    return Archive.create(folder.archive, dataset.spec, dataset.classes)


def check_distance(distance: float | None) -> None:
    if distance is not None and not 0 < distance < 1:
        raise UsageError(f"--min-distance is a cosine distance above 0 and below 1, not {distance}.")


def admission(distance: float | None, archive: Archive) -> Admit | None:
    """Keeps near-duplicates of what is archived out."""
    if distance is None:
        return None
    from threadpoolctl import ThreadpoolController

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


def strategy_settings(wanted: Wanted) -> dict[str, Any]:
    """The strategy's, of the configuration and of the call."""
    if wanted.config is None:
        return dict(wanted.settings)
    return configs.section(configs.read_named(wanted.config), "search", wanted.config) | dict(wanted.settings)


def search_setup(
    wanted: Wanted,
    dataset: Dataset,
    archive: Archive,
    *,
    generator: Generator | None,
    discriminator: Discriminator | None,
    divergence: Divergence,
    recognises: Callable[[ByteImages], NDArray[np.bool_]] | None = None,
) -> StrategySetup:
    stopwatch = Stopwatch()
    return StrategySetup(
        generator=None if generator is None else _timed(generator, stopwatch),
        images=dataset.images,
        labels=dataset.labels,
        seed=wanted.seed,
        settings=strategy_settings(wanted),
        batch_size=wanted.batch,
        divergence=divergence,
        recall=lambda places: archive.images_at(places + 1),
        stopwatch=stopwatch,
        clock=SearchClock(wanted.budget.seconds),
        counted=wanted.budget.counted,
        discriminator=discriminator,
        recognises=recognises,
    )


def warm_up(
    models: tuple[Classifier, Classifier],
    strategy: Strategy,
    dataset: Dataset,
    *,
    generator: Generator | None,
    batch: int,
    budget: Budget,
) -> None:
    """What is slow the first time only is done before the search clock starts; no random draw of the search is used.

    Models see no more images than the search may show them.
    """
    rng = np.random.default_rng(0)
    images = dataset.images[np.arange(batch) % len(dataset.images)]
    if generator is not None:
        for _ in range(2):
            images = generator.sample(batch, rng)[0]
    for model in models:
        if not model.remote:
            model.predict(to_floats(images[: max(1, budget.room(Spent(), batch))]))
    strategy.warm_up()
