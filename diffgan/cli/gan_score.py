"""`diffgan gan score`: how good a generator is on its data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from diffgan.cli.console import percent, print_facts, print_json, print_note, print_table, progress, stray_output_aside

if TYPE_CHECKING:
    from diffgan.datasets import Dataset
    from diffgan.features.extractors import Extractor
    from diffgan.features.learned import LearnedClassifier
    from diffgan.gan_training.augmentation import AugmentationSettings
    from diffgan.gan_training.score_results import ClassFigures, Estimate, Scores
    from diffgan.generators.generator import Generator

Source = Annotated[Path, typer.Argument(metavar="DIR|FILE", help="A generator.")]
Data = Annotated[str, typer.Option("--data", metavar="DATA", help="The data that it was trained on.")]
Name = Annotated[str, typer.Option("--extractor", metavar="NAME", help="learned, inception or vgg16.")]
Weights = Annotated[Path | None, typer.Option("--weights", metavar="FILE", help="Of inception or vgg16.")]
Config = Annotated[
    str | None, typer.Option("--config", metavar="FILE|NAME", help="Whose augmentation; by default, the data's.")
]
Samples = Annotated[int, typer.Option("--samples", metavar="N", help="Images in each comparison.")]
Repeats = Annotated[int, typer.Option("--repeats", metavar="N", help="Comparisons for FID and KID.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same scores.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]

#: More classes than this are not listed one by one.
_MOST_CLASSES = 20


def score(
    generator: Source,
    data: Data,
    extractor: Name = "learned",
    weights: Weights = None,
    config: Config = None,
    samples: Samples = 10_000,
    repeats: Repeats = 10,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Score a generator: FID, KID, neighbours, classes, copies; the scores of a folder are kept in its card."""
    from diffgan.datasets import load_dataset
    from diffgan.features.extractors import check_name
    from diffgan.gan_training.scores import Scorer, check_size, check_sizes
    from diffgan.gan_training.settings import read_settings
    from diffgan.generators.generator import load_generator

    check_name(extractor, weights)
    check_sizes(samples, repeats)
    with stray_output_aside():
        opened = load_generator(generator)
        dataset = load_dataset(data)
        check_size(opened, dataset)
        _note_other_data(opened, dataset)
        augmentation = read_settings(config, data).augmentation
        classifier, chosen = _extractor(extractor, weights, dataset, augmentation)
        scorer = Scorer(dataset, augmentation, chosen, classifier, samples=samples, repeats=repeats, seed=seed)
        with progress("scoring", repeats + 1) as report:
            scores = scorer.score(opened, report=report)
    if generator.is_dir():
        _keep(generator, scores)
    if json:
        print_json({"generator": opened.name, **scores.as_json()})
    else:
        _print(opened.name, dataset.name, scores)


def _note_other_data(generator: Generator, dataset: Dataset) -> None:
    if generator.data is not None and generator.data != dataset.fingerprint:
        print_note(f"{generator.name} was trained on other data than {dataset.name}, which it is scored against.")


def _extractor(
    name: str, weights: Path | None, dataset: Dataset, augmentation: AugmentationSettings
) -> tuple[LearnedClassifier, Extractor]:
    from diffgan.gan_training.learning import learned_classifier
    from diffgan.gan_training.score_extractors import open_extractor

    chosen = open_extractor(name, weights)  # first, so that a missing file costs no training
    with progress("learning the classes", 1) as report:
        classifier = learned_classifier(dataset, augmentation, report=report)
    return classifier, chosen or classifier


def _keep(folder: Path, scores: Scores) -> None:
    from diffgan.errors import GeneratorError
    from diffgan.gan_training.score_card import keep_in_card

    try:
        keep_in_card(folder, scores)
    except GeneratorError as error:
        print_note(str(error))


def _print(name: str, data: str, scores: Scores) -> None:
    facts: dict[str, Any] = {
        "extractor": scores.extractor,
        "FID": _shown(scores.fid),
        "KID": _shown(scores.kid),
        "precision, recall": f"{scores.surroundings.precision:.3f}, {scores.surroundings.recall:.3f}",
        "density, coverage": f"{scores.surroundings.density:.3f}, {scores.surroundings.coverage:.3f}",
    }
    for title, near in (("pixels", scores.pixels), ("features", scores.features)):
        facts[f"nearest, {title}"] = (
            f"{near.samples:.4f} ({near.real:.4f} among real images); {percent(near.closer)} closer than 99 % of those"
        )
    if scores.classes is not None:
        facts |= _class_facts(scores.classes)
    print_facts(f"{name} on {data}: {scores.repeats} × {scores.samples:,} samples", facts)
    if scores.classes is not None and len(scores.classes.shares) <= _MOST_CLASSES:
        _print_classes(scores.classes)


def _shown(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return f"{estimate.mean:.4g} (one repeat, no interval)"
    return f"{estimate.mean:.4g} (95 %: {estimate.low:.4g} to {estimate.high:.4g})"


def _class_facts(classes: ClassFigures) -> dict[str, str]:
    facts = {"smallest, largest class": f"{percent(classes.smallest)}, {percent(classes.largest)}"}
    if classes.intended is not None:
        facts["intended class"] = percent(classes.intended)
    if classes.classifier is not None:
        facts["the classifier is right"] = f"{percent(classes.classifier)} (of the data, which it was trained on)"
    return facts


def _print_classes(classes: ClassFigures) -> None:
    right = classes.intended_by_class
    header = ["class", "share"] if right is None else ["class", "share", "as intended"]
    rows: list[list[Any]] = []
    for name, share in classes.shares.items():
        row: list[Any] = [name, percent(share)]
        if right is not None:
            value = right[name]
            row.append("" if value is None else percent(value))
        rows.append(row)
    print_table("Samples by class, as the learned classifier sees them", header, rows)
