"""The items of a JSON list, one after another: a large file is never in memory as a whole."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from diffgan.errors import DataError

LONGEST_ITEM = 1 << 26  # characters

_CHUNK = 1 << 20  # bytes
_SPACE = re.compile(r"[ \t\r\n]*")
_NEAR_END = 16
"""An item that is cut off is faulty near the end of what was read, or is a text without its end."""


@dataclass(frozen=True)
class Item:
    """One item of a list.

    Attributes:
        place: the file, the line, and which of the items it is.
        value: what it is.
    """

    place: str
    value: Any


def read_items(path: Path, *, what: str) -> Iterator[Item]:
    """The items of the list that a file holds.

    Args:
        path: of the file, in UTF-8.
        what: one of the items is, for messages.

    Raises:
        DataError: the file cannot be read, or is no such list; the message names the line.
    """
    try:
        with path.open("rb") as file:
            yield from _items(_Reader(file, path), what)
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror}): give a file of {what}s.") from None


class _Reader:
    """What was read of a file and not yet used up, and the line where that begins."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self.path = path
        self.text, self.at, self.line, self.ended = "", 0, 1, False
        self._file = file
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")()

    @property
    def place(self) -> str:
        return f"{self.path}, line {self.line}"

    def more(self) -> bool:
        """Reads as much again as there is unused text, at least a chunk; False at the file's end."""
        if self.ended:
            return False
        rest = self.text[self.at :]
        content = self._file.read(max(_CHUNK, len(rest)))
        self.ended = not content
        try:
            self.text, self.at = rest + self._decoder.decode(content, final=self.ended), 0
        except UnicodeDecodeError as error:
            line = self.line + rest.count("\n") + error.object.count(b"\n", 0, error.start)
            raise DataError(f"{self.path}, line {line}: this is no UTF-8; export the file again.") from None
        return not self.ended

    def skip(self, end: int) -> None:
        """Uses the text up before this place."""
        self.line += self.text.count("\n", self.at, end)
        self.at = end

    def next_sign(self) -> str:
        """The next character that is no space; nothing at the file's end."""
        while True:
            space = _SPACE.match(self.text, self.at)
            self.skip(space.end() if space else self.at)
            if self.at < len(self.text) or not self.more():
                return self.text[self.at : self.at + 1]

    def take_sign(self, among: str, expected: str) -> str:
        """Uses the next character up, which has to be one of these."""
        sign = self.next_sign()
        if not sign or sign not in among:
            found = repr(sign) if sign else "the end of the file"
            raise DataError(f"{self.place}: expected {expected}, but there is {found}: export the file again.")
        self.skip(self.at + 1)
        return sign


def _items(reader: _Reader, what: str) -> Iterator[Item]:
    reader.take_sign("[", f"a list of {what}s, [")
    number = 0
    if reader.next_sign() == "]":
        reader.take_sign("]", "]")
    else:
        while True:
            number += 1
            reader.next_sign()
            place = f"{reader.place}, {what} {number}"
            yield Item(place, _value(reader, place))
            if reader.take_sign(",]", "a comma or ]") == "]":
                break
    if reader.next_sign():
        raise DataError(f"{reader.place}: something follows the list: export the file again.")


def _value(reader: _Reader, place: str) -> Any:
    decoder = json.JSONDecoder()
    while True:
        try:
            value, end = decoder.raw_decode(reader.text, reader.at)
        except json.JSONDecodeError as error:
            cut_off = error.pos >= len(reader.text) - _NEAR_END or error.msg.startswith("Unterminated string")
            if len(reader.text) - reader.at > LONGEST_ITEM:
                raise DataError(f"{place} is longer than {LONGEST_ITEM >> 20} MiB: leave it out.") from None
            if cut_off and reader.more():
                continue
            line = reader.line + reader.text.count("\n", reader.at, error.pos)
            raise DataError(
                f"{reader.path}, line {line}: this is no JSON ({error.msg}): export the file again."
            ) from None
        except (ValueError, RecursionError):  # a number of thousands of digits, lists of lists of lists
            raise DataError(f"{place} holds more than JSON readers take: leave it out.") from None
        reader.skip(end)
        return value
