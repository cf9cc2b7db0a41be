"""The pytest plugin: the fixture `assert_no_regression`. It is loaded into every test session, so it imports nothing
that is slow until a test asks for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from diffgan.check.gate import Checked


@pytest.fixture
def assert_no_regression(tmp_path: Path) -> Callable[..., Checked]:
    """`assert_no_regression(old, new, data, evaluations=20000, seed=0)`: fails where `diffgan check` would.

    The run is kept in the test's `tmp_path`, in `check`, unless `out` is given. See
    `diffgan.check.asserting.assert_no_regression`.
    """
    from diffgan.check import asserting

    return partial(_checked, asserting.assert_no_regression, tmp_path)


def _checked(run: Callable[..., Checked], folder: Path, *models_and_data: object, **options: object) -> Checked:
    __tracebackhide__ = True
    number = sum(1 for _ in folder.glob("check*"))
    return run(*models_and_data, **({"out": folder / ("check" if not number else f"check-{number + 1}")} | options))
