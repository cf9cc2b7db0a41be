"""Three fixed images of any size: what a model is tried with before anything long starts."""

from __future__ import annotations

import numpy as np

from diffgan.images import FloatImages, ImageSpec


def probe_images(spec: ImageSpec) -> FloatImages:
    """A mid-grey image, a ramp, and seeded noise: the same for every model and every run."""
    grey = np.full(spec.shape, 0.5, dtype=np.float32)
    ramp = np.linspace(0, 1, num=grey.size, dtype=np.float32).reshape(spec.shape)
    noise = np.random.default_rng(0).random(spec.shape, dtype=np.float32)
    return np.stack([grey, ramp, noise])
