"""Reads a study from a file, or one that comes with diffgan."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pydantic import ValidationError

from diffgan import configs
from diffgan.bench.places import resolved
from diffgan.bench.study import Study
from diffgan.errors import UsageError


def read_study(source: str) -> Study:
    """A study that comes with diffgan, by name, or a YAML file; the files that it names are there.

    Raises:
        UsageError: there is none, it does not fit, or something that it names does not exist.
    """
    study = parse_study(configs.read_study(source), source)
    # A study of ours lies within the package: what it names beside the test bed is the caller's.
    base = Path(source).parent if configs.is_file_name(source) else Path()
    return _located(study, source, base)


def parse_study(content: dict[str, Any], source: str) -> Study:
    """The study, as far as its own text tells whether it fits.

    Raises:
        UsageError: a key or a value does not fit.
    """
    try:
        return Study.model_validate({"name": Path(source).stem, **content})
    except ValidationError as error:
        raise UsageError(f"{source}: {_told(error)}") from error


def _told(error: ValidationError) -> str:
    first = error.errors()[0]
    # pydantic marks what is wrong with a mapping's key itself by a part of its own.
    where = ".".join(str(part) for part in first["loc"] if part != "[key]")
    if first["type"] == "extra_forbidden":
        parent, _, key = where.rpartition(".")
        return (
            f"there is no key {key!r}{f' in {parent}' if parent else ''}; see docs/bench.md for those that there are."
        )
    if first["type"] == "missing":
        return f"{where} is missing: add it."
    if first["type"] == "too_short":
        return f"{where} is empty: name at least one."
    reason = first["msg"].removeprefix("Value error, ")
    return f"{where} = {first['input']!r} does not fit: {reason}." if where else f"{reason}."


def _located(study: Study, source: str, base: Path) -> Study:
    """The same study, with absolute paths."""

    def at(text: str, place: str, *, data: bool = False) -> str:
        return resolved(text, f"{source}: {place}", base, data=data)

    pairs = {
        name: pair.model_copy(update={side: at(getattr(pair, side), f"pairs.{name}.{side}") for side in ("a", "b")})
        for name, pair in study.pairs.items()
    }
    judge = study.judge
    if judge is not None:
        models = tuple(at(model, f"judge.models.{place}") for place, model in enumerate(judge.models))
        judge = judge.model_copy(update={"models": models})
    generators = {name: at(path, f"generators.{name}") for name, path in study.generators.items()}
    diversity = study.diversity
    if diversity is not None and diversity.weights is not None:
        weights = at(diversity.weights, "diversity.weights")
        diversity = diversity.model_copy(update={"weights": weights})
    found = {
        "pairs": pairs,
        "generators": generators,
        "judge": judge,
        "diversity": diversity,
        "data": at(study.data, "data", data=True),
    }
    if study.discriminator is not None:
        found["discriminator"] = at(study.discriminator, "discriminator")
    return study.model_copy(update=found)
