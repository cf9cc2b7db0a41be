"""From labelled runs to a selector in a folder, step by step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from diffgan._version import __version__
from diffgan.archive import Archive
from diffgan.archive.publish import published
from diffgan.datasets import Dataset
from diffgan.errors import ArchiveError, UsageError
from diffgan.features.learned import LearnedClassifier
from diffgan.labels.judging import check_data
from diffgan.labels.origins import run_data
from diffgan.selection.answers import Answers, ask_pair, unlabelled
from diffgan.selection.card import Card, CrossValidation, DataFacts, ForestFacts
from diffgan.selection.evaluation import check_other_runs, cross_validate, hold_out, tested
from diffgan.selection.examples import Examples, check_enough, check_spec, read_examples
from diffgan.selection.features import DEFAULT, FeatureFacts, Features, Mimic, Pixels, ShapeFacts, check_name
from diffgan.selection.forest import TREES, fingerprint, grow
from diffgan.selection.nearness import Views, limits_of
from diffgan.selection.networks import shape_of, train_learned, train_mimic
from diffgan.selection.pairs import PairFacts, Sources, moved, pair_of_runs
from diffgan.selection.selector import Chooser, threshold_of

Report = Callable[[int, int], None]
#: Opens a bar, of this title and so many steps, that is told how many are done and how many there are.
Progress = Callable[[str, int], AbstractContextManager[Report]]

#: Triggers that each model has to be right about, alone.
FEWEST = 5


@contextmanager
def silent(_title: str, _total: int) -> Iterator[Report]:
    """A bar that nobody sees."""
    yield lambda *_: None


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What a selector may be asked for.

    Attributes:
        features: what the forest sees, one of `diffgan.selection.features.NAMES`.
        test: folders of other runs, of other seeds, with labels.
        data: in place of the runs' own, where it has moved.
        limit: of the valid triggers, at most so many count, in turn of every kind; of the test runs', all do.
        parts: of the cross-validation; 0 for none.
        seed: the same one gives the same selector.
        weights: a file, for vgg16.
        models: where A and B are, in place of what the runs say.
    """

    features: str = DEFAULT
    test: Sequence[Path] = ()
    data: Dataset | None = None
    limit: int | None = None
    parts: int = 5
    seed: int = 0
    weights: Path | None = None
    models: Sources = (None, None)


def train_selector(
    runs: Sequence[Path], out: Path, wanted: Wanted | None = None, *, progress: Progress = silent
) -> Chooser:
    """A selector, trained, tested and written.

    Args:
        runs: folders of runs of one pair, with labels; a search may still be writing to them.
        out: the folder to make; it appears whole, or not at all.
        wanted: see there.
        progress: what is told how it goes.

    Raises:
        DiffganError: something does not fit, in one line; nothing is written.
    """
    asked = wanted or Wanted()
    _check(runs, out, asked)
    pair = moved(pair_of_runs(runs), asked.models)
    ready = _ready(asked)
    examples = read_examples(runs, limit=asked.limit, seed=asked.seed)
    check_enough(examples, fewest=FEWEST, names=pair.names)
    others = _test_examples(pair, runs, examples, asked)
    data = _data(runs, asked)
    chooser = _train(_Material(runs, pair, examples, data), asked, ready, progress)
    validation = _validated(chooser, examples, asked, progress)
    held_out = None if others is None else hold_out(chooser, asked.test, others)
    chooser = tested(chooser, held_out, validation)
    with published(out) as draft:
        draft.mkdir()
        chooser.save(draft)
    return chooser


@dataclass(frozen=True, eq=False)
class _Material:
    """What a training starts from."""

    runs: Sequence[Path]
    pair: PairFacts
    examples: Examples
    data: Dataset


def _train(material: _Material, asked: Wanted, ready: Features | None, progress: Progress) -> Chooser:
    data, examples = material.data, material.examples
    with progress("learning the classes", 1) as report:
        learned = train_learned(data, report=report)
    with progress("asking both models", 2 * len(data)) as report:
        real, queries = ask_pair(material.pair, data, given=asked.models, report=report)
    features, seen = ready or learned, examples.images
    if asked.features == "mimic":
        others = unlabelled(material.runs, examples.ids, seed=asked.seed)
        seen = np.concatenate([seen, others.images])
        with progress("learning what the models answer", 1) as report:
            features = Mimic(train_mimic(data, real, others, seed=asked.seed, report=report), learned)
    with progress("growing the forest", 1):
        vectors = features.features(examples.images)
        forest = grow(vectors, examples.b_is_right, seed=asked.seed)
    facts = _data_facts(data, learned, real)
    card = Card(
        diffgan=__version__,
        pair=material.pair,
        data=facts,
        runs=tuple(str(run.absolute()) for run in material.runs),
        seed=asked.seed,
        counts=examples.counts,
        unlabelled=len(seen) - len(examples),
        features=_feature_facts(asked, data, features),
        forest=ForestFacts(
            fingerprint=fingerprint(forest),
            trees=TREES,
            features=vectors.shape[1],
            scikit_learn=version("scikit-learn"),
        ),
        limits=limits_of(data.images, learned),
        threshold=threshold_of(facts.only_a, facts.only_b),
        queries=queries,
    )
    return Chooser(card, features, forest, learned, seen)


def _validated(chooser: Chooser, examples: Examples, asked: Wanted, progress: Progress) -> CrossValidation | None:
    if not asked.parts:
        return None
    with progress("cross-validation", 1):
        views = Views.of(examples.images, chooser.learned, chooser.card.limits)
        features = chooser.features.features(examples.images)
        return cross_validate(examples, features, views, parts=asked.parts, seed=asked.seed)


def _test_examples(pair: PairFacts, runs: Sequence[Path], examples: Examples, asked: Wanted) -> Examples | None:
    """Read before anything long starts, in case that they do not fit."""
    if not asked.test:
        return None
    check_other_runs(pair, [str(run) for run in runs], asked.test)
    others = read_examples(asked.test)
    check_spec(examples.spec, others.spec, str(asked.test[0]))
    return others


def _data(runs: Sequence[Path], asked: Wanted) -> Dataset:
    data = run_data(runs[0]) if asked.data is None else asked.data
    with Archive.open(runs[0] / "archive.db", read_only=True) as archive:
        check_data(archive, data)
    return data


def _check(runs: Sequence[Path], out: Path, asked: Wanted) -> None:
    """What is cheap to see, before anything long starts."""
    if not runs:
        raise UsageError("A selector is trained from runs, but none was given: name the folder of one.")
    check_name(asked.features, asked.weights)
    if out.exists() or out.is_symlink():
        raise ArchiveError(f"{out} exists already, and nothing is overwritten: choose another --out, or remove it.")
    if not out.absolute().parent.is_dir():
        raise UsageError(f"The folder {out.absolute().parent} is not there: make it, or give another --out.")
    if asked.limit is not None and asked.limit < 2 * FEWEST:
        raise UsageError(f"At most {asked.limit} triggers are too few to learn from: give {2 * FEWEST} or more.")
    if asked.parts == 1 or asked.parts < 0:
        raise UsageError(f"A cross-validation has 2 parts or more, or 0 for none, not {asked.parts}.")
    if len({run.resolve() for run in runs}) < len(runs):
        raise UsageError("One run is named twice: name each once.")


def _ready(asked: Wanted) -> Features | None:
    """Features that take no training, opened before anything long starts."""
    if asked.features == "pixels":
        return Pixels()
    if asked.features == "vgg16":
        from diffgan.features.vgg16 import open_vgg16

        return open_vgg16(asked.weights)
    return None


def _feature_facts(asked: Wanted, data: Dataset, features: Features) -> FeatureFacts:
    shape = None
    if isinstance(features, Mimic):
        shape = ShapeFacts.of(shape_of(data, features.networks[0].network.outputs))
    weights = None if asked.weights is None else str(asked.weights.absolute())
    return FeatureFacts(name=features.name, identity=features.identity, network=shape, weights=weights)


def _data_facts(data: Dataset, learned: LearnedClassifier, real: Answers) -> DataFacts:
    right_a, right_b = real.a.argmax(axis=1) == data.labels, real.b.argmax(axis=1) == data.labels
    return DataFacts(
        name=data.name,
        fingerprint=data.fingerprint,
        images=len(data),
        channels=data.spec.channels,
        height=data.spec.height,
        width=data.spec.width,
        class_names=data.classes,
        only_a=int((right_a & ~right_b).sum()),
        only_b=int((right_b & ~right_a).sum()),
        learned=learned.identity,
        network=ShapeFacts.of(shape_of(data, learned.network.outputs)),
    )
