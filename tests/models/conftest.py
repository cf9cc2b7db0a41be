"""Fixtures for models: 4x4 grey images, and dense models over them."""

from __future__ import annotations

import numpy as np
import pytest

from diffgan.images import ImageSpec


@pytest.fixture
def spec() -> ImageSpec:
    return ImageSpec(1, 4, 4)


@pytest.fixture
def images() -> np.ndarray:
    return np.random.default_rng(3).random((9, 1, 4, 4), dtype=np.float32)
