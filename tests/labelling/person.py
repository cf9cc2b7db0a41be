"""Somebody before the page, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from selenium.webdriver import Chrome

ENTER, ESCAPE, BACKSPACE, DELETE, LEFT, RIGHT = "\ue007", "\ue00c", "\ue003", "\ue017", "\ue012", "\ue014"


class Person:
    """Somebody before the page."""

    def __init__(self, browser: Chrome, address: str) -> None:
        self.browser = browser
        self.faults()  # an earlier page's are not ours
        browser.get(address)
        browser.execute_script("localStorage.clear(); sessionStorage.clear()")
        browser.get(address)
        self.until("document.getElementById('image').dataset.id")

    def run(self, script: str) -> Any:
        return self.browser.execute_script(script)

    def until(self, condition: str) -> Any:
        """Waits for what a script finds."""
        from selenium.webdriver.support.ui import WebDriverWait

        return WebDriverWait(self.browser, 30, poll_frequency=0.02).until(lambda _: self.run(f"return {condition}"))

    def press(self, *keys: str) -> None:
        from selenium.webdriver.common.action_chains import ActionChains

        ActionChains(self.browser, duration=0).send_keys("".join(keys)).perform()

    def click(self, selector: str) -> None:
        self.browser.find_element("css selector", selector).click()

    @property
    def shown(self) -> str:
        """The trigger that is shown."""
        found: str = self.until("document.getElementById('image').dataset.id")
        return found

    def settle(self) -> None:
        """Waits until all is said."""
        self.until("document.getElementById('saved').textContent === 'all saved'")

    def text(self, selector: str) -> str:
        found: str = self.run(f"return document.querySelector({selector!r}).textContent")
        return found

    def is_visible(self, selector: str) -> bool:
        return self.browser.find_element("css selector", selector).is_displayed()

    def faults(self) -> list[str]:
        """What the browser complains of."""
        return [entry["message"] for entry in self.browser.get_log("browser")]  # type: ignore[no-untyped-call]


def local(address: str) -> str:
    """The same page by this machine's own name."""
    parts = urlsplit(address)
    return f"http://127.0.0.1:{parts.port}/?{parts.query}"


SitDown = Callable[[Path], Person]
