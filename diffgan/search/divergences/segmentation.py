"""Divergence of segmentations: models disagree where the regions that they see overlap too little."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import ModelError
from diffgan.search.divergences.protocol import (
    Divergences,
    Floats,
    Outputs,
    Task,
    check_finite,
    check_threshold,
)

_MOST_LABELS = 1 << 16
LabelMaps = NDArray[np.int64]


@dataclass(frozen=True)
class OverlapDivergence:
    """1 less the mean IoU (intersection over union) of two segmentations.

    Attributes:
        threshold: an image triggers where the divergence exceeds this.
    """

    threshold: float
    name: ClassVar[str] = "iou"
    task: ClassVar[Task] = "segmentation"

    def __post_init__(self) -> None:
        check_threshold(self.threshold)

    def __call__(self, a: Outputs, b: Outputs, expected: Outputs | None = None) -> Divergences:  # noqa: ARG002
        """Compares two batches of probabilities (N x C x H x W; one channel: of the foreground) or labels (N x H x W).

        Raises:
            ModelError: their shapes do not fit, or a value is neither a probability nor a label.
        """
        first, second = label_maps(a, "A"), label_maps(b, "B")
        if first.shape != second.shape:
            raise ModelError(
                f"The models segment into shapes {first.shape} and {second.shape}; expected N×H×W twice, the same: "
                "compare two models of the same output size."
            )
        amount = 1 - mean_overlap(first, second)
        return Divergences(amount, amount > self.threshold)


def mean_overlap(a: LabelMaps, b: LabelMaps) -> Floats:
    """The mean IoU of each of N pairs, over the labels that either of the two has. In [0, 1].

    Example:
        >>> import numpy as np
        >>> mean_overlap(np.array([[[0, 0, 1, 1]]]), np.array([[[0, 0, 0, 1]]])).round(4).tolist()
        [0.5833]
    """
    count = len(a)
    labels = 1 + int(max(a.max(initial=0), b.max(initial=0)))
    first, second = a.reshape(count, -1), b.reshape(count, -1)
    rows = labels * np.arange(count)[:, None]
    both = _tally((first + rows)[first == second], count, labels)
    either = _tally((first + rows).ravel(), count, labels) + _tally((second + rows).ravel(), count, labels) - both
    ratios = np.divide(both, either, out=np.zeros(both.shape), where=either > 0)
    return np.asarray(ratios.sum(axis=1) / np.maximum(np.count_nonzero(either, axis=1), 1))


def label_maps(outputs: Outputs, model: str) -> LabelMaps:
    """A label for each pixel, N x H x W, from labels or probabilities; the lowest of equally probable ones.

    Raises:
        ModelError: the outputs are neither.
    """
    if np.ndim(outputs) not in (3, 4) or 0 in np.shape(outputs)[1:]:
        raise ModelError(
            f"Model {model} gave outputs of shape {np.shape(outputs)}; expected N×C×H×W probabilities or N×H×W labels: "
            "compare two models for segmentation."
        )
    values = check_finite(outputs, model)
    if values.ndim == 4:
        return np.asarray(values.argmax(axis=1) if values.shape[1] > 1 else values[:, 0] > 0.5, dtype=np.int64)
    labels = values.astype(np.int64)
    if (labels != values).any() or labels.min(initial=0) < 0 or labels.max(initial=0) >= _MOST_LABELS:
        raise ModelError(
            f"Model {model} gave labels from {values.min()} to {values.max()}; expected whole numbers from 0 to "
            f"{_MOST_LABELS - 1}: give labels, or probabilities as N×C×H×W."
        )
    return labels


def _tally(places: NDArray[np.int64], count: int, labels: int) -> NDArray[np.int64]:
    return np.bincount(places, minlength=count * labels).reshape(count, labels)
