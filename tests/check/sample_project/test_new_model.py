"""The gate as a test of a project's own: `assert_no_regression` comes with diffgan."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

DATA = "data/test.npz"
OPTIONS: dict[str, Any] = {"generator": "models/generator.pt", "strategy": "random", "filters": False}


def test_the_new_model_is_no_worse(assert_no_regression: Callable[..., Any]) -> None:
    assert_no_regression("models/old.pt", "models/new.pt", DATA, evaluations=2000, seed=0, **OPTIONS)


def test_a_broken_model_is_held_back(assert_no_regression: Callable[..., Any]) -> None:
    with pytest.raises(AssertionError, match="significantly worse"):
        assert_no_regression("models/old.pt", "models/broken.pt", DATA, evaluations=2000, seed=0, **OPTIONS)
