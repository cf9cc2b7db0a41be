"""Divergences by name: how far apart two models are on an image, and whether they disagree on it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib.metadata import entry_points

from diffgan.errors import UsageError
from diffgan.search.divergences import classification, regression
from diffgan.search.divergences.classification import ClassDivergence
from diffgan.search.divergences.protocol import Distance, Divergence, Divergences, Task
from diffgan.search.divergences.regression import NumberDivergence
from diffgan.search.divergences.segmentation import OverlapDivergence
from diffgan.search.divergences.worsening import Worsening

__all__ = ["DEFAULT", "GROUP", "Divergence", "Divergences", "Task", "divergence_named", "divergence_names"]

DEFAULT = "euclidean"
#: Entry points of other packages: a factory that takes the options and gives a `Divergence`.
GROUP = "diffgan.divergences"


def divergence_named(name: str, **options: float) -> Divergence:
    """The divergence of that name.

    Args:
        name: one of `divergence_names`.
        options: what it can be given; `threshold` for those of regression and segmentation.

    Raises:
        UsageError: there is none of that name, or it takes other options.

    Example:
        >>> divergence_named("euclidean").task
        'classification'
        >>> divergence_named("relative", threshold=0.1).threshold
        0.1
    """
    factory = _BUILT_IN.get(name) or _installed(name)
    expected = inspect.signature(factory)
    try:
        expected.bind(**options)
    except TypeError as error:
        takes = ", ".join(expected.parameters) or "no options"
        given = ", ".join(f"{key}={value}" for key, value in options.items()) or "none"
        raise UsageError(f"The divergence {name} takes {takes}, but was given {given} ({error}).") from None
    return factory(**options)


def divergence_names() -> list[str]:
    """All names, diffgan's own first."""
    others = {point.name for point in entry_points(group=GROUP)} - _BUILT_IN.keys()
    return [*_BUILT_IN, *sorted(others)]


def _installed(name: str) -> Callable[..., Divergence]:
    for point in entry_points(group=GROUP):
        if point.name == name:
            factory: Callable[..., Divergence] = point.load()
            return factory
    raise UsageError(f"There is no divergence {name!r}; expected one of {', '.join(divergence_names())}.")


def _of_classes(name: str, distance: Distance) -> Callable[[], Divergence]:
    return lambda: ClassDivergence(name, distance)


def _of_numbers(name: str, distance: Distance) -> Callable[..., Divergence]:
    def factory(*, threshold: float) -> Divergence:
        return NumberDivergence(name, distance, threshold)

    return factory


_BUILT_IN: Mapping[str, Callable[..., Divergence]] = {
    "euclidean": _of_classes("euclidean", classification.euclidean),
    "total-variation": _of_classes("total-variation", classification.total_variation),
    "jensen-shannon": _of_classes("jensen-shannon", classification.jensen_shannon),
    "hellinger": _of_classes("hellinger", classification.hellinger),
    "margin": _of_classes("margin", classification.margin),
    "worsening": Worsening,
    "absolute": _of_numbers("absolute", regression.absolute),
    "relative": _of_numbers("relative", regression.relative),
    "iou": OverlapDivergence,
}
