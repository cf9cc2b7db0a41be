"""Rates, from samples that allow them: the labelled data, and images from the generator's prior.

What a search found is biased by design, and says nothing of how often two models disagree. So both are asked again,
about images that nobody searched for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from diffgan.datasets import Dataset
from diffgan.errors import DiffganError, ModelError
from diffgan.generators.generator import Generator, load_generator
from diffgan.images import ByteImages
from diffgan.labels.origins import run_data
from diffgan.models.classifier import Classifier
from diffgan.models.evaluation import PairOnData, compare_labels
from diffgan.models.pairs import load_pair
from diffgan.report.run import Run, section
from diffgan.search.divergence import divergence_named
from diffgan.search.evaluation import Evaluator
from diffgan.stats import Interval, mcnemar, wilson_interval

Models = tuple[Classifier, Classifier]
Result = TypeVar("Result")

_CHUNK = 500
#: So many small images at most; of large ones fewer, so that the report comes soon.
_MOST_REAL, _MOST_MADE, _LEAST = 10_000, 4_000, 500
_SMALL = 32 * 32 * 3


@dataclass(frozen=True)
class Rate:
    """How often the models disagree in a random sample.

    Attributes:
        images: asked about.
        of: how many there are; None: a sample without end.
        disagreements: among them.
        share: with its 95 % interval.
    """

    images: int
    of: int | None
    disagreements: int
    share: Interval


@dataclass(frozen=True)
class OnData:
    """Both models on the labelled data.

    Attributes:
        rate: how often they disagree.
        right: who is right; None where the outputs are no classes.
        p: of McNemar's test, whether one is right more often.
    """

    rate: Rate
    right: PairOnData | None
    p: float | None


@dataclass(frozen=True, eq=False)
class Measured:
    """What could be measured; a text says why something could not."""

    dataset: Dataset | str
    models: Models | str
    generator: Generator | str
    on_data: OnData | str
    on_prior: Rate | str
    samples: ByteImages | None


def measure(run: Run, models: Models | None = None, data: Dataset | None = None) -> Measured:
    """Opens what the run's configuration names, and asks.

    Args:
        run: see there.
        models: where they are open already.
        data: where it is loaded already.
    """
    dataset = data if data is not None else _tried(lambda: run_data(run.path))
    if isinstance(dataset, Dataset) and dataset.spec != run.spec:
        dataset = f"{dataset.name} has images of {dataset.spec}, but the run's are of {run.spec}."
    opened = models if models is not None else _tried(lambda: _open_models(run))
    generator = _tried(lambda: _open_generator(run))
    evaluator = opened if isinstance(opened, str) else _tried(lambda: _evaluator(run, opened))
    if isinstance(evaluator, str):
        return Measured(dataset, opened, generator, evaluator, evaluator, _drawn(generator))
    on_data = dataset if isinstance(dataset, str) else _tried(lambda: _on_data(evaluator, dataset))
    on_prior = generator if isinstance(generator, str) else _tried(lambda: _on_prior(evaluator, generator))
    return Measured(dataset, opened, generator, on_data, on_prior, _drawn(generator))


def _tried(attempt: Callable[[], Result]) -> Result | str:
    try:
        return attempt()
    except DiffganError as error:
        return str(error)
    except Exception as error:  # noqa: BLE001 - a part that fails must not take the report with it
        return f"{type(error).__name__}: {' '.join(str(error).split())}"


def _open_models(run: Run) -> Models:
    described = [section(section(run.config, "models"), place) for place in "ab"]
    sources = [str(one.get("source") or "") for one in described]
    for source in sources:
        # A folder from somebody else must not make us run its code, or send a token to its address.
        if source.startswith("py:") or "://" in source or not source:
            what = f"The run names {source}, which" if source else "The run's folder names no model file, so it"
            raise ModelError(
                f"{what} is not opened for a report: only files are, since code and addresses in a folder may not be "
                "yours."
            )
    options = [{name: value for name, value in _options(one).items() if value is not None} for one in described]
    models = load_pair(sources[0], sources[1], spec=run.spec, options=(options[0], options[1]))
    for model, one in zip(models, described, strict=True):
        if one.get("fingerprint") not in (None, model.fingerprint):
            raise ModelError(f"{model.name} is no longer the model of this run: bring the former file back.")
    return models


def _options(described: dict[str, Any]) -> dict[str, Any]:
    return section(described, "options")


def _open_generator(run: Run) -> Generator:
    described = section(run.config, "generator")
    generator = load_generator(str(described.get("source") or "unknown"))
    if described.get("fingerprint") not in (None, generator.fingerprint):
        raise ModelError(f"{generator.name} is no longer the generator of this run: bring the former one back.")
    return generator


def _evaluator(run: Run, models: Models) -> Evaluator:
    name, separate, threshold = str(run.config.get("divergence") or "euclidean").partition(":")
    divergence = divergence_named(name, **({"threshold": float(threshold)} if separate else {}))
    return Evaluator(*models, divergence)


def _on_data(evaluator: Evaluator, dataset: Dataset) -> OnData:
    rows = np.arange(len(dataset))
    most = _count(dataset.images, _MOST_REAL)
    if len(rows) > most:
        rows = np.sort(np.random.default_rng(0).choice(rows, most, replace=False))
    triggers, a, b = _asked(evaluator, dataset.images[rows])
    rate = _rate(triggers, len(dataset) if len(rows) < len(dataset) else None)
    if evaluator.divergence.task != "classification":
        return OnData(rate, None, None)
    right = compare_labels(a, b, dataset.labels[rows])
    return OnData(rate, right, mcnemar(right.only_a, right.only_b).p)


def _on_prior(evaluator: Evaluator, generator: Generator) -> Rate:
    rng = np.random.default_rng(0)
    wanted = _count(np.empty((0, *generator.spec.shape), dtype=np.uint8), _MOST_MADE)
    parts = [_asked(evaluator, generator.sample(_CHUNK, rng)[0])[0] for _ in range(0, wanted, _CHUNK)]
    return _rate(np.concatenate(parts), None)


def _asked(evaluator: Evaluator, images: ByteImages) -> tuple[NDArray[np.bool_], NDArray[np.int64], NDArray[np.int64]]:
    """Whether they disagree, and where the greatest output of each is."""
    triggers, first, second = [], [], []
    for start in range(0, len(images), _CHUNK):
        said = evaluator.evaluate(images[start : start + _CHUNK])
        triggers.append(said.triggers)
        first.append(_greatest(said.outputs_a))
        second.append(_greatest(said.outputs_b))
    return np.concatenate(triggers), np.concatenate(first), np.concatenate(second)


def _greatest(outputs: NDArray[np.float32]) -> NDArray[np.int64]:
    return np.asarray(outputs.reshape(len(outputs), -1).argmax(axis=1), dtype=np.int64)


def _rate(triggers: NDArray[np.bool_], of: int | None) -> Rate:
    count = int(triggers.sum())
    return Rate(len(triggers), of, count, wilson_interval(count, len(triggers)))


def _count(images: ByteImages, most: int) -> int:
    size = int(np.prod(images.shape[1:]))
    return max(_LEAST, min(most, most * _SMALL // max(1, size)))


def _drawn(generator: Generator | str) -> ByteImages | None:
    """Some images from the prior, to look at."""
    if isinstance(generator, str):
        return None
    found = _tried(lambda: generator.sample(24, np.random.default_rng(1))[0])
    return None if isinstance(found, str) else found
