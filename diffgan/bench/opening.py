"""Opens all that a study names before anything runs, so that a mistake is told at once and not in the night."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffgan import __version__
from diffgan.bench.cells import Cell
from diffgan.bench.metrics import METRICS
from diffgan.bench.study import DiversityPlan, JudgePlan, PairPlan, Study
from diffgan.datasets import Dataset, load_dataset
from diffgan.errors import GeneratorError
from diffgan.features.extractors import Extractor
from diffgan.features.judge import Judge
from diffgan.features.vgg16 import open_vgg16
from diffgan.generators.generator import load_generator
from diffgan.images import image_ids
from diffgan.models import load_classifier
from diffgan.models.classifier import Classifier
from diffgan.models.evaluation import check_labels_known, predict_labels
from diffgan.models.pairs import load_pair
from diffgan.preparation import fitting_discriminator
from diffgan.search.strategies.registry import check_settings, package_of
from diffgan.system import code_fingerprint

Facts = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Opened:
    """What a study's cells share.

    Attributes:
        study: as it was read.
        data: loaded.
        judge: calibrated on the data; None: triggers are only counted.
        extractor: of the features that diversities look at; None: they look at pixels, or at nothing.
        definition: what all cells have in common, as rows hold it.
        pairs, generators: fingerprints and options by name, as rows hold them.
        discriminator: the same of it; None: no strategy of the study asks one.
        initial: of each pair, the disagreements among the data's own images.
    """

    study: Study
    data: Dataset
    judge: Judge | None
    extractor: Extractor | None
    definition: Facts
    pairs: Mapping[str, Facts]
    generators: Mapping[str, Facts]
    discriminator: Facts | None
    initial: Mapping[str, Facts]

    def definition_of(self, cell: Cell) -> Facts:
        """All that a cell's figures depend on, but for the machine."""
        study = self.study
        asked = {"discriminator": self.discriminator} if study.needs_discriminator(cell.strategy) else {}
        return {
            **self.definition,
            **asked,
            "pair": self.pairs[cell.pair],
            "generator": None if cell.generator is None else self.generators[cell.generator],
            "strategy": _strategy_facts(study.registered(cell.strategy), study.strategies[cell.strategy].settings),
            "seed": cell.seed,
        }


def open_study(study: Study, note: Callable[[str], None] = lambda _: None) -> Opened:
    """Opens data, models, generators and judge, and closes again what a cell opens for itself.

    Raises:
        DiffganError: one of them cannot be opened, or does not fit the data, or a strategy does not take its settings.
    """
    for name, plan in study.strategies.items():
        check_settings(study.registered(name), plan.settings)
    note("Opening what the study names …")
    data = load_dataset(study.data)
    judge = None if study.judge is None else _judge(study.judge, data)
    extractor = None if study.diversity is None else _extractor(study.diversity)
    pairs, initial = {}, {}
    for name, pair in study.pairs.items():
        models = _pair(pair, data)
        pairs[name] = {side: _model_facts(model) for side, model in zip("ab", models, strict=True)}
        initial[name] = _initial(models, data, judge)
        for model in models:
            model.close()
    return Opened(
        study=study,
        data=data,
        judge=judge,
        extractor=extractor,
        definition=_shared(study, data, judge, extractor),
        pairs=pairs,
        generators={name: _generator_facts(path, data) for name, path in study.generators.items()},
        discriminator=_discriminator_facts(study, data),
        initial=initial,
    )


def _strategy_facts(name: str, settings: Mapping[str, Any]) -> Facts:
    facts: Facts = {"name": name, "settings": settings}
    package = package_of(name)
    return facts if package is None else {**facts, "package": package}


def _pair(plan: PairPlan, data: Dataset) -> tuple[Classifier, Classifier]:
    models = load_pair(plan.a, plan.b, spec=data.spec, options=(plan.options_a, plan.options_b))
    for model in models:
        check_labels_known(model, data.classes, data.name)
    return models


def _judge(plan: JudgePlan, data: Dataset) -> Judge:
    """Only the first model is asked for features."""
    wanted = {} if plan.features is None else {"features_name": plan.features}
    models = [
        load_classifier(source, options={} if place else wanted, spec=data.spec, origin="judge")
        for place, source in enumerate(plan.models)
    ]
    for model in models:
        check_labels_known(model, data.classes, data.name)
    return Judge.calibrate(models, data.images, features=plan.features is not None)


def _model_facts(model: Classifier) -> Facts:
    options = model.options.model_dump(mode="json", exclude_defaults=True, exclude={"threads", "token_env"})
    # Two files of one name are called by their paths: where they lie is nothing that was measured.
    name = model.name if model.remote else Path(model.name).name
    return {"name": name, "fingerprint": model.fingerprint, "options": options}


def _generator_facts(path: str, data: Dataset) -> Facts:
    generator = load_generator(path)
    if generator.spec != data.spec:
        raise GeneratorError(
            f"{generator.name} makes images of {generator.spec}, but {data.name} has {data.spec}: name a generator of "
            "this data."
        )
    return {"name": Path(path).name, "fingerprint": generator.fingerprint}


def _discriminator_facts(study: Study, data: Dataset) -> Facts | None:
    if study.discriminator is None or not any(map(study.needs_discriminator, study.strategies)):
        return None
    discriminator = fitting_discriminator(Path(study.discriminator), data)
    return {"name": discriminator.name, "fingerprint": discriminator.fingerprint}


def _extractor(plan: DiversityPlan) -> Extractor | None:
    if plan.features == "pixels" or not any(METRICS[name].of_features for name in plan.metrics):
        return None
    return open_vgg16(None if plan.weights is None else Path(plan.weights))


def _diversity_facts(plan: DiversityPlan | None, extractor: Extractor | None) -> Facts | None:
    """The weights' fingerprint in place of their path."""
    if plan is None:
        return None
    return {
        **plan.model_dump(mode="json", exclude={"weights"}),
        "extractor": None if extractor is None else extractor.identity,
    }


def _shared(study: Study, data: Dataset, judge: Judge | None, extractor: Extractor | None) -> Facts:
    judged = None
    if judge is not None and study.judge is not None:
        models = [_model_facts(model) for model in judge.models if isinstance(model, Classifier)]
        judged = {"models": models, "features": study.judge.features}
    return {
        "diffgan": __version__,
        "code": code_fingerprint(),
        "data": {"name": Path(data.name).name, "fingerprint": data.fingerprint},
        "budget": study.budget.model_dump(mode="json", exclude_none=True),
        "marks": study.marks.model_dump(mode="json"),
        "judge": judged,
        "diversity": _diversity_facts(study.diversity, extractor),
        "batch": study.batch,
    }


def _initial(models: tuple[Classifier, Classifier], data: Dataset, judge: Judge | None) -> Facts:
    """Where the two disagree without any search: the paper's initial triggers, on the test set."""
    label_a, label_b = (predict_labels(model, data.images) for model in models)
    places = np.flatnonzero(label_a != label_b)
    images = data.images[places]
    facts: Facts = {"triggers": len(places), "unique": len(np.unique(image_ids(images)))}
    if judge is not None:
        figures = judge.measure(images, label_a[places], label_b[places]).yardstick
        facts |= {"valid": figures.valid, "dv": figures.dv}
    return facts
