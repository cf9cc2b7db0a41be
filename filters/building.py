"""The filters of a run, from its settings and what there is: data, a discriminator, references."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from typing import Protocol

import numpy as np

from diffgan.datasets import Dataset
from diffgan.errors import DataError, UsageError
from diffgan.filters.discriminator import DiscriminatorFilter
from diffgan.filters.duplicates import DuplicateFilter
from diffgan.filters.protocol import Filter
from diffgan.filters.recognisable import RecognisableFilter
from diffgan.filters.recogniser import train_recogniser
from diffgan.filters.settings import FilterSettings
from diffgan.filters.similarity import SsimFilter
from diffgan.generators.discriminator import Discriminator, load_discriminator
from diffgan.images import ByteImages

_GROUP = "diffgan.filters"


@dataclass(frozen=True, eq=False)
class FilterSetup:
    """What filters are built from.

    Attributes:
        data: that the run was on.
        references: real images for the SSIM; None: those of the data that the generator saw.
        discriminator: the folder of a GAN of this data; None: there is none.
        has_classes: whether the triggers' classes are the data's.
    """

    data: Dataset
    references: ByteImages | None = None
    discriminator: Path | None = None
    has_classes: bool = False


class FilterFactory(Protocol):
    """What an entry point of the group `diffgan.filters` names."""

    def __call__(self, setup: FilterSetup, **options: object) -> Filter:
        """Builds the filter.

        Raises:
            UsageError: the options do not fit, or something that it needs is missing.
        """
        ...


@dataclass(frozen=True)
class Chain:
    """What is run over an archive.

    Attributes:
        filters: in this order.
        unique: ends it; None: duplicates are kept.
        notes: what was left out, and why.
    """

    filters: tuple[Filter, ...]
    unique: DuplicateFilter | None
    notes: tuple[str, ...]


def build_chain(
    settings: FilterSettings, setup: FilterSetup, report: Callable[[int, int], None] = lambda *_: None
) -> Chain:
    """The filters that the settings name, as far as they can be had.

    Args:
        settings: see there.
        setup: see there.
        report: told how a training goes that a filter needs: updates done, and all.

    Raises:
        DiffganError: a filter does not fit the data.
    """
    filters: list[Filter] = []
    notes: list[str] = []
    if settings.discriminator is not None:
        if setup.discriminator is None:
            notes.append(
                "No discriminator, so its stage is left out: --discriminator DIR takes that of a GAN of this data."
            )
        else:
            filters.append(_discriminator(setup.discriminator, setup, settings.discriminator))
    if settings.recognisable is not None:
        try:
            recogniser = train_recogniser(setup.data, report=report)
            filters.append(RecognisableFilter.calibrated(recogniser, keep=settings.recognisable))
        except DataError as error:
            notes.append(f"Without the recognisable filter: {error}")
    if settings.ssim is not None:
        references = seen_images(setup) if setup.references is None else setup.references
        filters.append(SsimFilter(references, settings.ssim))
    filters += [_other(name, setup, options) for name, options in settings.others.items()]
    unique = None if settings.distance is None else DuplicateFilter(settings.distance, settings.keep)
    return Chain(tuple(filters), unique, tuple(notes))


def seen_images(setup: FilterSetup) -> ByteImages:
    """The data without what a GAN of ours held out."""
    trained = None if setup.discriminator is None else load_discriminator(setup.discriminator).data
    if trained is None or trained.fingerprint != setup.data.fingerprint:
        return setup.data.images
    return np.delete(setup.data.images, np.array(trained.held_out, dtype=np.int64), axis=0)


def _discriminator(folder: Path, setup: FilterSetup, keep: float) -> DiscriminatorFilter:
    discriminator: Discriminator = load_discriminator(folder)
    with_classes = setup.has_classes and discriminator.classes == len(setup.data.classes)
    return DiscriminatorFilter.calibrated(discriminator, setup.data, keep=keep, with_classes=with_classes)


def _other(name: str, setup: FilterSetup, options: dict[str, object]) -> Filter:
    entries = {entry.name: entry for entry in entry_points(group=_GROUP)}
    if name not in entries:
        known = ", ".join(sorted(entries)) or "none is installed"
        raise UsageError(
            f"There is no filter {name!r} among those of other packages ({known}): correct filters.others."
        )
    try:
        factory: FilterFactory = entries[name].load()
    except Exception as error:
        raise UsageError(
            f"The filter {name} ({entries[name].value}) cannot be loaded: {type(error).__name__}: {error}: repair or "
            "uninstall its package."
        ) from error
    return factory(setup, **options)
