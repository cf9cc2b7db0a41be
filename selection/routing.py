"""What a selector brings on labelled data, and what it costs, beside A alone, B alone and both."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from diffgan.datasets import Dataset
from diffgan.images import to_floats
from diffgan.models.evaluation import check_labels_known
from diffgan.selection.examples import check_spec
from diffgan.selection.scores import Choices, ChoiceScores, Figure, Rival, against, score_choices
from diffgan.selection.selector import Selector
from diffgan.stats import wilson_interval

Progress = Callable[[int, int], None]
Mask = NDArray[np.bool_]

_BLOCK = 1000
_CONFIG = ConfigDict(frozen=True, extra="forbid")


class Way(BaseModel):
    """One way to a label.

    Attributes:
        accuracy: the share of the images that it labels rightly.
        right: how many.
        seconds: that it took.
        queries: images that A and B were asked about.
        against: the selector, held against it by McNemar's test; None for the selector itself.
    """

    model_config = _CONFIG

    accuracy: Figure
    right: int
    seconds: float
    queries: dict[str, int]
    against: Rival | None = None


class Routing(BaseModel):
    """A selector on labelled data.

    Attributes:
        data: its name.
        images: how many there are.
        is_training_data: whether these are the very images and labels that its features were trained on.
        share_b: the share of the images on which B was asked.
        either_right: images that an oracle's choice would label rightly.
        ways: by name: selector, A, B, both (the mean of the probabilities).
        choices: where exactly one model is right; None where there is no such image.
    """

    model_config = _CONFIG

    data: str
    images: int
    is_training_data: bool
    share_b: float
    either_right: int
    ways: dict[str, Way]
    choices: ChoiceScores | None


def route(selector: Selector, data: Dataset, *, progress: Progress = lambda *_: None) -> Routing:
    """The selector on labelled images: it is really run, and so are A and B.

    Args:
        selector: with both models open.
        data: of its size and classes.
        progress: called with images done and images to do, over all three.

    Raises:
        DataError: the images have another size.
        ModelError: the data has other classes, or a model failed.
    """
    check_spec(selector.chooser.spec, data.spec, data.name)
    for model in selector.models:
        check_labels_known(model, data.classes, data.name)
    labels, chose_b, (spent, asked) = _selected(selector, data, progress)
    answers, seconds = [], []
    for place, model in enumerate(selector.models):
        start = perf_counter()
        parts = []
        for first in range(0, len(data), _BLOCK):
            parts.append(model.predict(to_floats(data.images[first : first + _BLOCK])))
            progress((place + 1) * len(data) + first + len(parts[-1]), 3 * len(data))
        answers.append(np.concatenate(parts))
        seconds.append(perf_counter() - start)
    right = {
        "selector": labels == data.labels,
        "A": answers[0].argmax(axis=1) == data.labels,
        "B": answers[1].argmax(axis=1) == data.labels,
        "both": (answers[0] + answers[1]).argmax(axis=1) == data.labels,
    }
    count = len(data)
    cost = {
        "selector": (spent, asked),
        "A": (seconds[0], {"a": count, "b": 0}),
        "B": (seconds[1], {"a": 0, "b": count}),
        "both": (sum(seconds), {"a": count, "b": count}),
    }
    return Routing(
        data=data.name,
        images=count,
        is_training_data=data.fingerprint == selector.card.data.fingerprint,
        share_b=float(chose_b.mean()),
        either_right=int((right["A"] | right["B"]).sum()),
        ways={name: _way(name, right, *cost[name]) for name in right},
        choices=_choices(chose_b, right, majority_is_b=selector.card.counts.only_b > selector.card.counts.only_a),
    )


def _selected(
    selector: Selector, data: Dataset, progress: Progress
) -> tuple[NDArray[np.int64], Mask, tuple[float, dict[str, int]]]:
    """Labels, whether B was asked, and what it cost."""
    labels, chose_b = np.empty(len(data), dtype=np.int64), np.empty(len(data), dtype=np.bool_)
    before, start = selector.queries, perf_counter()
    for first in range(0, len(data), _BLOCK):
        rows = slice(first, first + _BLOCK)
        said = selector.select(to_floats(data.images[rows]))
        labels[rows], chose_b[rows] = said.answers.argmax(axis=1), said.chose_b
        progress(min(first + _BLOCK, len(data)), 3 * len(data))
    asked = {place: count - before[place] for place, count in selector.queries.items()}
    return labels, chose_b, (perf_counter() - start, asked)


def _way(name: str, right: dict[str, Mask], seconds: float, queries: dict[str, int]) -> Way:
    count = int(right[name].sum())
    return Way(
        accuracy=Figure.of(wilson_interval(count, len(right[name]))),
        right=count,
        seconds=round(seconds, 6),
        queries=queries,
        against=None if name == "selector" else against(right["selector"], right[name]),
    )


def _choices(chose_b: Mask, right: dict[str, Mask], *, majority_is_b: bool) -> ChoiceScores | None:
    one = right["A"] != right["B"]
    if not one.any():
        return None
    return score_choices(Choices(chose_b[one], right["B"][one], right["both"][one]), majority_is_b=majority_is_b)
