"""A report, as a program reads it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

_ALONE = {"meta", "input", "br", "image", "use", "line", "circle", "path", "rect"}


@dataclass
class Page:
    """The report's HTML, checked to be well formed."""

    html: str

    def __post_init__(self) -> None:
        self.tags = _Tags()
        self.tags.feed(self.html)
        self.tags.close()
        assert self.tags.open == [], self.tags.open

    def part(self, name: str) -> str:
        """The text of one section, without its tags."""
        found = re.search(rf'<section id="{name}">(.*?)</section>', self.html, re.S)
        assert found is not None, name
        return plain(found[1])

    @property
    def verdict(self) -> list[str]:
        return [plain(text) for text in re.findall(r'<p class="verdict">(.*?)</p>', self.html, re.S)]

    @property
    def data(self) -> dict[str, Any]:
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.html, re.S)
        assert found is not None
        content: dict[str, Any] = json.loads(found[1])
        return content


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in _ALONE:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        if tag not in _ALONE:
            assert self.open, f"</{tag}> closes nothing"
            assert self.open.pop() == tag, tag


def plain(html: str) -> str:
    """Without tags and line breaks."""
    import html as entities

    return " ".join(entities.unescape(re.sub(r"<[^>]*>", " ", html)).split())
