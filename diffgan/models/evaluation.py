"""How models do on labelled images: accuracy, and where a pair disagrees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError
from diffgan.images import ByteImages, to_floats
from diffgan.models.classifier import Classifier

Labels = NDArray[np.int64]

#: Called with how many images are answered, and how many there are.
Progress = Callable[[int, int], None]

_CHUNK = 1000


def predict_labels(classifier: Classifier, images: ByteImages, progress: Progress | None = None) -> Labels:
    """The label that a model gives each image."""
    labels = np.empty(len(images), dtype=np.int64)
    for start in range(0, len(images), _CHUNK):
        part = images[start : start + _CHUNK]
        labels[start : start + len(part)] = classifier.predict(to_floats(part)).argmax(axis=1)
        if progress is not None:
            progress(start + len(part), len(images))
    return labels


def accuracy(predicted: Labels, truth: Labels) -> float:
    """The share of right labels."""
    return float((predicted == truth).mean())


@dataclass(frozen=True)
class PairOnData:
    """Where two models stand on labelled images.

    Attributes:
        images: how many there are.
        accuracy_a, accuracy_b: the share that each gets right.
        both_right, only_a, only_b, both_wrong: counts that add up to `images`.
        disagreements: images whose labels differ.
        pairs: (label of A, label of B) with its count, most frequent first.
    """

    images: int
    accuracy_a: float
    accuracy_b: float
    both_right: int
    only_a: int
    only_b: int
    both_wrong: int
    disagreements: int
    pairs: list[tuple[tuple[int, int], int]]


def compare_labels(a: Labels, b: Labels, truth: Labels) -> PairOnData:
    """Counts agreement, and who is right.

    Example:
        >>> import numpy as np
        >>> pair = compare_labels(np.array([0, 1, 1]), np.array([0, 1, 2]), np.array([0, 0, 2]))
        >>> pair.disagreements, pair.only_b, pair.both_wrong, pair.pairs
        (1, 1, 1, [((1, 2), 1)])
    """
    right_a, right_b, differ = a == truth, b == truth, a != b
    pairs = Counter(zip(a[differ].tolist(), b[differ].tolist(), strict=True))
    return PairOnData(
        images=len(truth),
        accuracy_a=accuracy(a, truth),
        accuracy_b=accuracy(b, truth),
        both_right=int((right_a & right_b).sum()),
        only_a=int((right_a & ~right_b).sum()),
        only_b=int((right_b & ~right_a).sum()),
        both_wrong=int((~right_a & ~right_b).sum()),
        disagreements=int(differ.sum()),
        pairs=sorted(pairs.items(), key=lambda item: (-item[1], item[0])),
    )


def check_same_classes(a: Classifier, b: Classifier) -> None:
    """Refuses a pair that cannot be compared.

    Raises:
        ModelError: the models answer different numbers of classes, or name them differently.
    """
    if a.class_count != b.class_count:
        raise ModelError(
            f"{a.name} answers {a.class_count} classes and {b.name} {b.class_count}: "
            "two models are compared on the same classes; give two of one task."
        )
    names_a, names_b = a.options.class_names, b.options.class_names
    if names_a is not None and names_b is not None and names_a != names_b:
        differing = next(pair for pair in zip(names_a, names_b, strict=True) if pair[0] != pair[1])
        raise ModelError(
            f"{a.name} and {b.name} name their classes differently ({differing[0]!r}, {differing[1]!r}): "
            "bring the option classes into one order."
        )


def check_labels_known(classifier: Classifier, classes: tuple[str, ...], data: str) -> None:
    """Refuses data whose labels mean something else to a model.

    Raises:
        ModelError: the data has more classes than the model answers, or some of the same in another order.
    """
    if len(classes) > classifier.class_count:
        raise ModelError(
            f"{classifier.name} answers {classifier.class_count} classes, but {data} has {len(classes)}: "
            "give the data that this model is for."
        )
    names = classifier.options.class_names
    # Where nobody has named the data's classes, they are called by their numbers, which say nothing of the model's.
    unnamed = classes == tuple(map(str, range(len(classes))))
    if names is None or (unnamed and set(names) != set(classes)):
        return
    for place, name in enumerate(classes):
        if name in names and names[place] != name:
            raise ModelError(
                f"{classifier.name} has the classes of {data} in another order ({name!r} is its number "
                f"{names.index(name)}, and the data's number {place}): "
                + (
                    "bring the option classes, or the data's, into one order."
                    if set(names) == set(classes)
                    else "number the data's labels as the model does, with all its classes, or mend the option classes."
                )
            )
