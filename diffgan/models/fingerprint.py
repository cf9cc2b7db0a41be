"""Fingerprints that tell one model, under its options, from any other."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.models.options import ModelOptions

#: The options that change what a file answers; threads and the like do not.
_ANSWER_OPTIONS = ("layout", "range", "mean", "std", "output", "task", "input_name", "output_name")


def of_files(paths: Iterable[Path], options: ModelOptions) -> str:
    """Of the bytes of a model's files and of the options that change its answers."""
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    digest.update(_of_options(options))
    return digest.hexdigest()[:32]


def of_answers(answers: NDArray[np.float32]) -> str:
    """Of the answers to the fixed probe, rounded so that another batch size or machine does not change them."""
    rounded = np.round(answers.astype(np.float64), 4) + 0.0
    return hashlib.sha256(repr(answers.shape).encode() + rounded.tobytes()).hexdigest()[:32]


def _of_options(options: ModelOptions) -> bytes:
    defaults = ModelOptions()
    changed = {key: getattr(options, key) for key in _ANSWER_OPTIONS if getattr(options, key) != getattr(defaults, key)}
    return json.dumps(changed, sort_keys=True).encode() if changed else b""
