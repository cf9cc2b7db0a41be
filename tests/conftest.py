"""Shared fixtures, and the switch for slow tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

# A shared machine may pause at any moment: a slow example is no failure.
settings.register_profile("diffgan", deadline=None)
settings.load_profile("diffgan")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slow", action="store_true", help="run the tests that take longer than a minute, too")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--slow"):
        return
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.skip(reason="takes longer than a minute: run with --slow"))


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A cache folder of the tests' own, also for the commands that they start."""
    folder = tmp_path_factory.mktemp("cache")
    os.environ["DIFFGAN_CACHE"] = str(folder)
    yield folder
    del os.environ["DIFFGAN_CACHE"]


@pytest.fixture(scope="session")
def testbed() -> Path:
    """The folder of real models and data: `DIFFGAN_TESTBED`, or ../shared/testbed beside the checkout."""
    default = Path(__file__).resolve().parents[2] / "shared" / "testbed"
    folder = Path(os.environ.get("DIFFGAN_TESTBED", default))
    if not folder.is_dir():
        pytest.skip(f"the test bed is not at {folder}: set DIFFGAN_TESTBED to run this test")
    return folder
