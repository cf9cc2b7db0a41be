"""From what a model answers to what diffgan compares: one function per kind of answer, checked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffgan.models.options import ModelOptions

Probabilities = NDArray[np.float32]


class OutputError(Exception):
    """What is wrong with a model's answer, in words that fit behind the model's name."""


def classification(raw: NDArray[Any], count: int, options: ModelOptions) -> Probabilities:
    """Class probabilities (N, K) from probabilities, logits or labels.

    A single column is the probability (or logit) of the second of two classes.

    Raises:
        OutputError: the answer has another shape, or values that cannot be what the options say.
    """
    if count == 1 and raw.ndim < 2:  # a model that squeezes leaves nothing of a batch of one
        raw = raw.reshape(1, -1)
    if options.output == "labels":
        return _one_hot(raw, count, options.class_count)
    table = _as_table(raw, count, options.class_count)
    if not np.isfinite(table).all():
        row = int(np.argmin(np.isfinite(table).all(axis=1)))
        raise OutputError(f"its answer to image {row} is not finite (NaN or infinity)")
    probabilities = _softmax(table) if options.output == "logits" else table
    if probabilities.shape[1] == 1:
        probabilities = np.concatenate([1 - probabilities, probabilities], axis=1)
    _check_probabilities(probabilities)
    return probabilities


#: How the answers of each task are finished; other tasks join here, with their own shapes.
FINISHERS: dict[str, Callable[[NDArray[Any], int, ModelOptions], Probabilities]] = {"classification": classification}


def _as_table(raw: NDArray[Any], count: int, classes: int | None) -> Probabilities:
    flat = raw.reshape(raw.shape[:2]) if raw.ndim > 2 and set(raw.shape[2:]) == {1} else raw
    if flat.ndim == 1 and flat.shape[0] == count:
        flat = flat[:, None]
    if flat.ndim != 2 or flat.shape[0] != count or flat.shape[1] == 0:
        raise OutputError(f"it answered {count} images with shape {raw.shape}; expected ({count}, classes)")
    given = 2 if flat.shape[1] == 1 else flat.shape[1]
    if classes is not None and given != classes:
        raise OutputError(f"it answers {given} classes, but the option classes speaks of {classes}")
    if flat.dtype.kind not in "fiub":
        raise OutputError(f"it answers values of type {flat.dtype}; expected numbers")
    return np.ascontiguousarray(flat, dtype=np.float32)


def _softmax(logits: Probabilities) -> Probabilities:
    if logits.shape[1] == 1:
        # Stable for both signs: exp never sees a positive argument.
        small = np.exp(-np.abs(logits))
        return np.where(logits >= 0, 1 / (1 + small), small / (1 + small)).astype(np.float32)
    shifted: Probabilities = np.exp(logits - logits.max(axis=1, keepdims=True))
    shifted /= shifted.sum(axis=1, keepdims=True)
    return shifted


def _check_probabilities(table: Probabilities) -> None:
    sums = table.sum(axis=1)
    # An 8-bit model rounds every class by up to half a step of 1/256.
    tolerance = max(0.05, table.shape[1] / 512)
    if table.min() < -1e-3 or table.max() > 1 + 1e-3 or np.abs(sums - 1).max() > tolerance:
        worst = int(np.argmax(np.abs(sums - 1)))
        raise OutputError(
            f"its answers are no probabilities (image {worst} sums to {sums[worst]:.3g}, "
            f"values from {table.min():.3g} to {table.max():.3g}): if they are logits, say output: logits"
        )


def _one_hot(raw: NDArray[Any], count: int, classes: int | None) -> Probabilities:
    if classes is None:
        raise OutputError("it answers labels, so the option classes must name the classes, or say how many")
    labels = raw.reshape(-1)
    if raw.shape not in ((count,), (count, 1)):
        raise OutputError(f"it answered {count} images with shape {raw.shape}; expected ({count},) for output: labels")
    if not np.isfinite(labels.astype(np.float64)).all():
        raise OutputError("one of its labels is not finite (NaN or infinity)")
    whole = labels.astype(np.int64)
    if (whole != labels).any() or whole.min() < 0 or whole.max() >= classes:
        raise OutputError(f"its labels range from {labels.min()} to {labels.max()}; expected 0 to {classes - 1}")
    table = np.zeros((count, classes), dtype=np.float32)
    table[np.arange(count), whole] = 1
    return table
