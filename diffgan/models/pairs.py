"""Opens the two models of a comparison, so that they answer in the same classes and are told apart by name."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffgan.images import ImageSpec
from diffgan.models.classifier import Classifier
from diffgan.models.evaluation import check_same_classes
from diffgan.models.loading import Source, load_classifier

Options = Mapping[str, Any]


def load_pair(
    source_a: Source,
    source_b: Source,
    *,
    spec: ImageSpec | None = None,
    options: tuple[Options | None, Options | None] = (None, None),
) -> tuple[Classifier, Classifier]:
    """Both models, probed where the size of the images is known.

    Raises:
        ModelError: one cannot be opened, or they differ in their classes.
        UsageError: an option is unknown or does not fit.
    """
    names = names_of([source_a, source_b])
    first, second = (
        load_classifier(source, options=chosen, spec=spec, name=name, origin=flag)
        for source, chosen, name, flag in zip((source_a, source_b), options, names, ("--a", "--b"), strict=True)
    )
    if first.output_shape is not None and second.output_shape is not None:
        check_same_classes(first, second)
    return first, second


def names_of(sources: list[Any]) -> list[str | None]:
    """Two files of one name are called by their paths, the same file twice by its place; others by their names."""
    texts = [source if isinstance(source, (str, Path)) else None for source in sources]
    if len(texts) < 2 or None in texts or Path(str(texts[0])).name != Path(str(texts[1])).name:
        return [None] * len(sources)
    if str(texts[0]) == str(texts[1]):
        return [f"{Path(str(text)).name} ({place})" for text, place in zip(texts, "AB", strict=True)]
    return [str(text) for text in texts]
