"""The report in a browser: wide and narrow, light and dark, by clicks and by keys."""

from __future__ import annotations

import io
from base64 import b64decode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from numpy.typing import NDArray

from diffgan.report import write_report
from tests.report.runs import Plan, reject, write_run

if TYPE_CHECKING:
    from selenium.webdriver import Chrome
    from selenium.webdriver.remote.webelement import WebElement

Look = Callable[..., "Reader"]


class Reader:
    """Somebody who reads the report."""

    def __init__(self, browser: Chrome, path: Path, *, width: int, scheme: str) -> None:
        self.browser = browser
        mobile = width < 500
        self.tell("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=mobile)
        self.tell("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.get(path.as_uri())

    def tell(self, command: str, **parameters: Any) -> dict[str, Any]:
        answer: dict[str, Any] = self.browser.execute_cdp_cmd(command, parameters)
        return answer

    def run(self, script: str) -> Any:
        return self.browser.execute_script(script)

    def click(self, selector: str) -> WebElement:
        """A click on what is seen: not under the bar that stays at the top."""
        element = self.browser.find_element("css selector", selector)
        self.browser.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()
        return element

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser, duration=0).send_keys(*keys).perform()

    def picture(self, selector: str | None = None) -> NDArray[np.uint8]:
        """The page from its top, or one element of it, as it is seen."""
        from PIL import Image

        box = {"x": 0, "y": 0, "width": 300, "height": 300}
        if selector is not None:
            box = self.run(
                f"const box = document.querySelector({selector!r}).getBoundingClientRect();"
                "return {x: box.left + scrollX, y: box.top + scrollY, width: box.width, height: box.height}"
            )
        shot = self.tell("Page.captureScreenshot", captureBeyondViewport=True, clip={**box, "scale": 1})
        return np.asarray(Image.open(io.BytesIO(b64decode(shot["data"]))).convert("RGB"))

    def faults(self) -> list[str]:
        return [entry["message"] for entry in self.browser.get_log("browser")]  # type: ignore[no-untyped-call]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = write_run(tmp_path_factory.mktemp("report") / "run", Plan(count=150))
    reject(run, "ssim", range(0, 150, 10))
    return write_report(run)


@pytest.fixture
def look(browser: Chrome, report: Path) -> Iterator[Look]:
    """Opens the report; at the end, the browser must have had nothing to complain of."""
    browser.get_log("browser")  # type: ignore[no-untyped-call]

    def opened(path: Path = report, *, width: int = 1280, scheme: str = "light") -> Reader:
        return Reader(browser, path, width=width, scheme=scheme)

    yield opened
    assert browser.get_log("browser") == []  # type: ignore[no-untyped-call]
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})
    browser.get("about:blank")


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_screenshots(look: Look, width: int, scheme: str) -> None:
    reader = look(width=width, scheme=scheme)
    assert reader.run("return document.documentElement.scrollWidth") <= width
    ground = np.median(reader.picture(), axis=(0, 1)).mean()
    assert ground < 60 if scheme == "dark" else ground > 200
    thumb = reader.picture("#plates .thumb")
    assert min(thumb.shape[:2]) >= 50
    assert thumb.std() > 20, "the thumbnail shows nothing"
    assert (np.ptp(reader.picture(".chart .line.found").reshape(-1, 3), axis=0) > 20).any()


def test_a_cell_filters_the_gallery_and_again_shows_all(look: Look) -> None:
    reader = look()
    shown = "return [...document.querySelectorAll('#plates .plate')].map((one) => one.textContent.trim())"
    cell = reader.click(".cell[data-a='2'][data-b='3']")
    assert set(reader.run(shown)) == {"2 / 3"}
    assert cell.get_attribute("aria-pressed") == "true"
    assert "A says 2, B says 3" in reader.browser.find_element("id", "shown").text
    reader.click("#all")
    assert len(set(reader.run(shown))) == 5
    assert cell.get_attribute("aria-pressed") == "false"


def test_the_map_and_the_images_by_keys(look: Look) -> None:
    from selenium.webdriver.common.keys import Keys

    reader = look()
    reader.run("document.getElementById('chart-map').focus()")
    reader.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert reader.browser.find_element("id", "hover").is_displayed()
    reader.press(Keys.ENTER)
    dialog = reader.browser.find_element("id", "one")
    assert dialog.is_displayed()
    assert "divergence" in dialog.text
    reader.press(Keys.ESCAPE)
    assert not dialog.is_displayed()


def test_clusters_by_divergence(look: Look) -> None:
    reader = look()
    reader.click(".order[data-order='divergence']")
    values = reader.run("return [...document.querySelectorAll('.group')].map((one) => +one.dataset.divergence)")
    assert values == sorted(values, reverse=True)
    reader.click("[data-cluster]")
    assert reader.browser.find_element("id", "shown").text.startswith("Cluster ")


def test_many_clusters_are_unfolded_on_demand_and_in_print(look: Look, tmp_path: Path) -> None:
    reader = look(write_report(write_run(tmp_path / "run", Plan(count=400, shapes=12))))
    seen = "return [...document.querySelectorAll('.group')].filter((one) => one.checkVisibility()).length"
    there = reader.run("return document.querySelectorAll('.group').length")
    assert there > 6
    assert reader.run(seen) == 6
    reader.click(".order[data-order='divergence']")
    assert reader.run(seen) == 6
    reader.tell("Emulation.setEmulatedMedia", media="print")
    assert reader.run(seen) == there
    reader.tell("Emulation.setEmulatedMedia", media="")
    reader.click("#all-groups")
    assert reader.run(seen) == there
    assert not reader.browser.find_element("id", "all-groups").is_displayed()


def test_a_class_is_found_by_name_among_a_thousand(look: Look, tmp_path: Path) -> None:
    names = [f"kind <i>{number}</i>" for number in range(1000)]
    path = write_report(write_run(tmp_path / "run", Plan(count=1200, names=names, cells=1000)))
    reader = look(path, width=390)
    assert reader.run("return document.documentElement.scrollWidth") <= 390
    reader.browser.find_element("id", "find").send_keys("<i>777")
    found = reader.run("return [...document.querySelectorAll('#cells .kind')].map((one) => one.textContent)")
    assert len(found) == 2
    assert all("kind <i>777</i>" in text for text in found)
    reader.click("#cells .kind")
    assert "kind <i>777</i>" in reader.browser.find_element("id", "shown").text


def test_an_empty_report(look: Look, tmp_path: Path) -> None:
    reader = look(write_report(write_run(tmp_path / "run", Plan(count=0))))
    assert "found no image" in reader.browser.find_element("css selector", "header").text
