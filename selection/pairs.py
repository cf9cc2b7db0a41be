"""The pair that runs compared: the same in all of them, and opened again as it was."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from diffgan.errors import ModelError, UsageError
from diffgan.images import ImageSpec
from diffgan.models.classifier import Classifier
from diffgan.models.evaluation import check_same_classes
from diffgan.models.loading import Source, load_classifier
from diffgan.models.pairs import names_of
from diffgan.runs import RunFolder

Sources = tuple[Source | None, Source | None]


class ModelFacts(BaseModel):
    """One model of a pair, so that it can be found and recognised.

    Attributes:
        source: a path, an address, or `py:module:attribute`.
        fingerprint: tells the model from any other.
        options: what it takes and what its answers mean.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    source: str
    fingerprint: str
    options: dict[str, Any]

    @property
    def is_file(self) -> bool:
        """Whether opening it neither runs the user's code nor sends images anywhere."""
        return _is_path(self.source)


class PairFacts(BaseModel):
    """Both models of a pair."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    a: ModelFacts
    b: ModelFacts

    @property
    def fingerprints(self) -> tuple[str, str]:
        """Of A and of B."""
        return self.a.fingerprint, self.b.fingerprint

    @property
    def names(self) -> tuple[str, str]:
        """What A and B are called, always different."""
        found = names_of([self.a.source, self.b.source])
        first, second = (name or _short(side) for name, side in zip(found, (self.a, self.b), strict=True))
        return (first, second) if first != second else (f"{first} (A)", f"{second} (B)")


def pair_of_runs(runs: Sequence[Path]) -> PairFacts:
    """The pair that all these runs compared.

    Raises:
        UsageError: a folder holds no run, or two runs compared different pairs.
    """
    pairs = [_pair_of(run) for run in runs]
    for run, pair in zip(runs[1:], pairs[1:], strict=True):
        if pair.fingerprints != pairs[0].fingerprints:
            raise UsageError(
                f"{run} compared {' and '.join(pair.names)}, but {runs[0]} compared {' and '.join(pairs[0].names)} "
                "(by their fingerprints and places): a selector is for one pair; give runs of one."
            )
    return pairs[0]


def moved(pair: PairFacts, given: Sources) -> PairFacts:
    """The same pair, found where the sources say: that they are the same models is for `open_pair` to see."""
    sides = []
    for side, source in zip((pair.a, pair.b), given, strict=True):
        text = str(source) if isinstance(source, (str, os.PathLike)) else side.source
        at = side.model_copy(update={"source": text})
        sides.append(at.model_copy(update={"source": _absolute(at)}))
    return PairFacts(a=sides[0], b=sides[1])


def open_pair(pair: PairFacts, spec: ImageSpec, *, given: Sources = (None, None)) -> tuple[Classifier, Classifier]:
    """Both models, certain to be those of the pair.

    Args:
        pair: what to open.
        spec: the size of the images.
        given: where A and B are, in place of what the pair says.

    Raises:
        ModelError: one cannot be opened, or is another model.
        UsageError: one is code or an address, and nobody has named it in this call.
    """
    for place, side, source in zip("ab", (pair.a, pair.b), given, strict=True):
        if source is None and not side.is_file:
            raise UsageError(
                f"Model {place.upper()} of this pair is {side.source}, which is code or an address, and is not opened "
                f"because a file says so: name it with --model-{place} {side.source}."
            )
    opened: list[Classifier] = []
    try:
        for place, side, source, name in zip("AB", (pair.a, pair.b), given, pair.names, strict=True):
            opened.append(_open(place, side, side.source if source is None else source, spec, name))
        check_same_classes(*opened)
    except BaseException:
        close_opened(opened, given)
        raise
    return opened[0], opened[1]


def close_opened(models: Sequence[Classifier], given: Sources) -> None:
    """Closes those that `open_pair` has opened; a classifier that was given stays its owner's."""
    for model, source in zip(models, given, strict=False):
        if not isinstance(source, Classifier):
            model.close()


def _open(place: str, side: ModelFacts, source: Source, spec: ImageSpec, name: str) -> Classifier:
    if _is_path(source) and not Path(str(source)).exists():
        raise ModelError(
            f"Model {place}, {source}, is not there: bring it back, or name it with --model-{place.lower()}."
        )
    model = load_classifier(source, options=side.options, spec=spec, name=name, origin=f"the options of {place}")
    if model.fingerprint != side.fingerprint:
        raise ModelError(
            f"{source} is not the model {place} of this pair (fingerprint {model.fingerprint[:8]}, not "
            f"{side.fingerprint[:8]}): a selector is for the pair that it was trained with; give that model, or train "
            "a selector for this one."
        )
    return model


def _pair_of(run: Path) -> PairFacts:
    models = configuration(run).get("models")
    try:
        pair = PairFacts.model_validate(models)
    except ValidationError as error:
        raise UsageError(
            f"{run} does not say which two models it compared: give the folder of a run of `diffgan compare`."
        ) from error
    _check_task(run, pair)
    return moved(pair, (None, None))


def configuration(run: Path) -> dict[str, Any]:
    """What a run was started with.

    Raises:
        UsageError: the folder holds no run.
    """
    if not (run / "config.yaml").is_file() or not (run / "archive.db").is_file():
        given = "is no folder" if not run.is_dir() else "holds no run (no config.yaml with an archive.db)"
        raise UsageError(f"{run} {given}: give the folder that `diffgan compare` wrote to.")
    return RunFolder(run).config()


def _check_task(run: Path, pair: PairFacts) -> None:
    for side in (pair.a, pair.b):
        task = side.options.get("task", "classification")
        if task != "classification":
            raise UsageError(
                f"{run} compared models for {task}: a selector chooses between classifiers; give a run of those."
            )


def _is_path(source: Source) -> bool:
    text = str(source) if isinstance(source, (str, os.PathLike)) else "py:"
    return "://" not in text and not text.startswith("py:")


def _absolute(side: ModelFacts) -> str:
    """As it is opened from any folder."""
    return os.path.abspath(side.source) if side.is_file else side.source  # noqa: PTH100 - a source is a text


def _short(side: ModelFacts) -> str:
    return Path(side.source).name if side.is_file else side.source
