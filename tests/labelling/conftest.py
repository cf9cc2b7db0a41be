"""Runs to label, and their pages."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest

from tests.labelling.pages import DIGITS, MakeRun, Page, page_of, write_run
from tests.labelling.person import Person

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
DRIVER = shutil.which("chromedriver")


@pytest.fixture
def make_run(tmp_path: Path) -> MakeRun:
    """Makes the folder of a run with so many triggers."""

    def make(
        count: int = 100, *, names: Sequence[str] | None = DIGITS, name: str = "run", labelled: bool = True
    ) -> Path:
        folder = tmp_path / name
        write_run(folder, count, names=names, labelled=labelled)
        return folder

    return make


@pytest.fixture
def open_page() -> Iterator[Callable[..., Page]]:
    """Serves a run until the test ends."""
    with ExitStack() as opened:

        def open_(run: Path, **options: bool) -> Page:
            address = opened.enter_context(page_of(run, **options))  # type: ignore[arg-type]
            return Page(opened.enter_context(httpx.Client(base_url=address, timeout=60)))

        yield open_


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    """Chromium without a window."""
    if not CHROMIUM or not DRIVER:
        pytest.skip("there is no chromium with its chromedriver: apt-get install chromium chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver")
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"):
        options.add_argument(argument)
    options.add_argument("--window-size=1280,900")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))
    try:
        yield driver
    finally:
        driver.quit()


@pytest.fixture
def person(browser: Chrome) -> Iterator[Callable[[Path], Person]]:
    """Opens the page of a run; at the end, the browser must have had nothing to complain of."""
    with ExitStack() as opened:
        people: list[Person] = []

        def sit_down(run: Path) -> Person:
            people.append(Person(browser, opened.enter_context(page_of(run))))
            return people[-1]

        yield sit_down
        for one in people:
            assert one.faults() == []
            browser.get("about:blank")
