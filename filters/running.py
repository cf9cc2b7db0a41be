"""Filters over a run's folder: what `diffgan filter` does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np

from diffgan import configs
from diffgan.archive import Archive
from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import UsageError
from diffgan.filters.building import FilterSetup, build_chain
from diffgan.filters.calibration import calibrate, labelled_scores
from diffgan.filters.chain import Stage, Watch, rejected_by, run_chain
from diffgan.filters.chosen import Chosen
from diffgan.filters.discriminator import KEEP
from diffgan.filters.protocol import Candidates, Filter
from diffgan.filters.recognisable import MOST_LOOKED_AT, RecognisableFilter
from diffgan.filters.settings import FilterSettings, read_filter_settings
from diffgan.filters.thresholds import Target
from diffgan.filters.validity import sampling_doubts, validity_ratio
from diffgan.generators.artifact import has_discriminator
from diffgan.generators.discriminator import load_discriminator
from diffgan.images import ByteImages, ImageSpec
from diffgan.labels import Consensus, consensus
from diffgan.labels.origins import run_data
from diffgan.runs import RunFolder


@dataclass(frozen=True, kw_only=True)
class FilterWishes:
    """What may be asked for.

    Attributes:
        config: a configuration's name or file.
        discriminator: the folder of a GAN of the run's data.
        references: data with real images for the SSIM.
        data: the run's, where it has moved, or is at hand.
        thresholds: by the filter's name, in place of its own.
        target: what thresholds found from labels aim at; None: none are looked for.
    """

    config: str | None = None
    discriminator: Path | None = None
    references: str | None = None
    data: str | Dataset | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    target: str | None = None


@dataclass(frozen=True)
class Filtered:
    """What the filters came to.

    Attributes:
        triggers: in the archive.
        stages: of the chain.
        notes: what was left out, and why.
        calibration: what the labels say, as texts; empty where nobody asked.
    """

    triggers: int
    stages: list[Stage]
    notes: list[str]
    calibration: list[str]


def filter_run(run: Path, wishes: FilterWishes, watch: Watch = lambda *_: None) -> Filtered:
    """Gives verdicts on all triggers of a run.

    Raises:
        DiffganError: there is no such run, or something does not fit; verdicts so far stay.
    """
    folder = RunFolder(run)
    if not folder.archive.is_file():
        raise UsageError(f"{run} holds no archive.db: give the folder that a search wrote to.")
    target = None if wishes.target is None else Target.parse(wishes.target)
    with Archive.open(folder.archive) as archive:
        triggers = archive.count()
        if not triggers:
            return Filtered(0, [], ["The archive is empty: there is nothing to filter."], [])
        data = _data(run, wishes.data)
        settings = _settings(wishes, data)
        setup = _setup(folder, archive, data, wishes)
        built = build_chain(settings, setup, lambda done, total: watch("training", done, total))
        asked = {**settings.thresholds, **wishes.thresholds}
        _check_names(asked, built.filters)
        chosen = Chosen(run)
        former, notes = chosen.of(built.filters)
        said = consensus(archive.labels.read())
        from_labels = target is not None and len(said.validity()[0]) > 0
        own = _adapted(built.filters, archive, settings)
        # Labels decide anew: what was chosen before is not to decide what they are held against.
        filters = _with_thresholds(own, asked if from_labels else former | asked)
        texts: list[str] = []
        found: dict[str, float] = {}
        if target is not None:
            for number in range(len(filters) if from_labels else 0):
                # What those before it let pass is for it to judge, so they have had to judge by their new thresholds.
                run_chain(archive, filters, folder=run, watch=watch)
                new, text = _from_labels(archive, filters[: number + 1], said, target)
                found |= new
                texts.append(text)
                filters = _with_thresholds(filters, new)
        stages = run_chain(archive, filters, folder=run, unique=built.unique, watch=watch)
        if target is not None:
            texts.append(_share_of_valid(archive, said))
        if wishes.thresholds or from_labels:
            chosen.write(asked | found, filters, anew=from_labels)
        _into_summary(folder, stages, archive.count(kept_only=True))
    told = [note for name, note in notes.items() if name not in asked | found]
    if from_labels:
        told += [
            f"The threshold {former[name]:.4g} of {name}, set before, is forgotten: the labels give none, and its own "
            "applies."
            for name in former
            if name not in asked | found
        ]
    return Filtered(triggers, stages, [*built.notes, *told], texts)


def _data(run: Path, named: str | Dataset | None) -> Dataset:
    if isinstance(named, Dataset):
        return named
    return run_data(run) if named is None else load_dataset(named)


def check_wishes(wishes: FilterWishes, data: Dataset) -> None:
    """Finds a mistake before a search, and not after it.

    Raises:
        DiffganError: something does not fit.
    """
    _settings(wishes, data)
    if wishes.discriminator is not None:
        load_discriminator(wishes.discriminator)
    _references(wishes, data.spec)


def _settings(wishes: FilterWishes, data: Dataset) -> FilterSettings:
    config = wishes.config
    name = data.name.partition(":")[0]
    own = configs.read(name) if name in configs.names() else {}
    chosen = {} if config is None else configs.read_named(config)
    merged = configs.section(own, "filters", name) | configs.section(chosen, "filters", config or name)
    if wishes.discriminator is not None and merged.get("discriminator") is None:
        merged["discriminator"] = KEEP  # who names one wants its verdict
    return read_filter_settings(merged, config or name)


def _setup(folder: RunFolder, archive: Archive, data: Dataset, wishes: FilterWishes) -> FilterSetup:
    if data.spec != archive.image_spec:
        raise UsageError(f"{data.name} has images of {data.spec}, but the run's are of {archive.image_spec}.")
    own = wishes.discriminator or _generator_of(folder)
    references = _references(wishes, archive.image_spec)
    return FilterSetup(data=data, references=references, discriminator=own, has_classes=archive.has("classes"))


def _references(wishes: FilterWishes, spec: ImageSpec) -> ByteImages | None:
    if wishes.references is None:
        return None
    references = load_dataset(wishes.references)
    if references.spec != spec:
        raise UsageError(
            f"The references of {references.name} are images of {references.spec}, but the run's are of {spec}: give "
            "references of that size."
        )
    return references.images


def _generator_of(folder: RunFolder) -> Path | None:
    """The run's own GAN, where it is one of ours and still there."""
    if not (folder.path / "config.yaml").is_file():
        return None
    described = folder.config().get("generator")
    source = Path(str(described.get("source", ""))) if isinstance(described, dict) else Path()
    return source if has_discriminator(source) else None


def _adapted(filters: Sequence[Filter], archive: Archive, settings: FilterSettings) -> list[Filter]:
    if not settings.adapted:
        return list(filters)
    return [one.adapted(_sample(archive)) if isinstance(one, RecognisableFilter) else one for one in filters]


def _sample(archive: Archive) -> Candidates:
    """Triggers evenly spread over the archive."""
    ids = archive.column("ids")
    found = archive.find(ids[:: max(1, -(-len(ids) // MOST_LOOKED_AT))])
    return Candidates(ids=found.ids, images=found.images, classes=found.classes, divergence=found.divergence)


def _check_names(thresholds: Mapping[str, float], filters: Sequence[Filter]) -> None:
    unknown = sorted(set(thresholds) - {one.name for one in filters})
    if unknown:
        names = ", ".join(one.name for one in filters) or "none"
        raise UsageError(f"There is no filter {unknown[0]!r} in this chain to give a threshold to; there are: {names}.")


def _with_thresholds(filters: Sequence[Filter], thresholds: Mapping[str, float]) -> list[Filter]:
    """Thresholds kept from a former run may be of filters that this chain has not."""
    return [_at(one, thresholds[one.name]) if one.name in thresholds else one for one in filters]


def _at(one: Filter, threshold: float) -> Filter:
    if np.isnan(threshold):
        raise UsageError(f"The threshold of {one.name} is no number; expected one, as in --threshold {one.name}=0.4.")
    try:
        return cast("Filter", replace(cast("Any", one), threshold=threshold))
    except TypeError as error:
        raise UsageError(
            f"The filter {one.name} takes no threshold from outside: set it by its own options."
        ) from error


def _from_labels(
    archive: Archive, filters: Sequence[Filter], said: Consensus, target: Target
) -> tuple[dict[str, float], str]:
    """The last filter's threshold, where the labels give one, and what there is to say of it.

    What the filters before it reject is not for it to judge, so it counts neither way.
    """
    *earlier, one = filters
    labelled = labelled_scores(archive.verdicts.read(one.name), said, without=rejected_by(archive, earlier))
    result = calibrate(labelled, rng=np.random.default_rng(0), targets=[target])
    threshold = result.choices[0].threshold
    return {} if threshold is None else {one.name: threshold.estimate}, f"{one.name}\n{result}"


def _share_of_valid(archive: Archive, said: Consensus) -> str:
    ids, valid = said.validity()
    if not len(ids):
        return "No trigger is labelled: the defaults apply. See diffgan labels import, and labels judge."
    with archive.snapshot():  # a search may still be writing
        everybody, kept = archive.column("ids"), archive.column("kept")
    has_label = np.isin(everybody, ids)
    doubts = sampling_doubts(has_label, kept=kept)
    return str(validity_ratio(int(valid.sum()), len(ids), len(everybody), doubts=doubts))


def _into_summary(folder: RunFolder, stages: Sequence[Stage], kept: int) -> None:
    summary = folder.summary()
    if summary is not None:
        folder.write_summary(summary | {"kept": kept, "filters": {stage.name: stage.as_json() for stage in stages}})
