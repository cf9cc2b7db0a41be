"""Triggers with one-by-two images, whose first pixels the tests choose."""

from __future__ import annotations

import numpy as np

from diffgan.archive import TriggerBatch
from diffgan.images import ByteImages


def images(*pixels: int, second: int = 9) -> ByteImages:
    """One-by-two images with these first pixels, N x 1 x 2 x 1."""
    return np.array([(pixel, second) for pixel in pixels], dtype=np.uint8).reshape(-1, 1, 2, 1)


def batch(*pixels: int) -> TriggerBatch:
    """Triggers that A takes for class 1 and B for class 0."""
    numbers = np.arange(len(pixels))
    outputs = np.tile(np.array([0.25, 0.75], dtype=np.float32), (len(pixels), 1))
    return TriggerBatch(
        images=images(*pixels),
        outputs_a=outputs,
        outputs_b=outputs[:, ::-1].copy(),
        label_a=numbers * 0 + 1,
        label_b=numbers * 0,
        divergence=numbers / 7,
        evaluation=numbers,
        generation=numbers,
        seconds=numbers / 100,
        queries_a=numbers,
        queries_b=numbers,
    )
