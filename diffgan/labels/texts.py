"""Labels and names as cells of a table, so that every one is read back as it was."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import get_close_matches

from diffgan.archive import Archive
from diffgan.archive.export.names import without_formula
from diffgan.errors import DataError

INVALID = "invalid"
"""The label of an image that shows no class."""

_NUMBER = re.compile("[0-9]{1,18}")
_LISTED = 12


@dataclass(frozen=True)
class ClassTexts:
    """The classes of an archive, as texts.

    Attributes:
        names: of the classes, where they have any.
        count: how many classes there are, where it is known.
    """

    names: tuple[str, ...] | None
    count: int | None

    @classmethod
    def of(cls, archive: Archive) -> ClassTexts:
        """Those of an archive; without names, the models' outputs tell how many there are."""
        if archive.class_names is not None:
            return cls(archive.class_names, len(archive.class_names))
        shape = archive.layout.outputs_a
        return cls(None, shape[0] if shape is not None and len(shape) == 1 else None)

    def read(self, text: str) -> int | None:
        """The class that a text means; None for an image that shows none.

        A name wins over a number, so that in data whose classes are called 1, 2, 3, a `1` is the first class. Only
        `invalid` wins over a name: a class of that name is written by its number.

        Raises:
            DataError: it means no class.

        Example:
            >>> texts = ClassTexts(("cat", "dog", "0"), 3)
            >>> [texts.read(text) for text in ("dog", "1", "0", "invalid")]
            [1, 1, 2, None]
        """
        if text == INVALID:
            return None
        if self.names is not None and text in self.names:
            return self.names.index(text)
        if text.lower() == INVALID:
            return None
        if _NUMBER.fullmatch(text) and (self.count is None or int(text) < self.count):
            if (name := self._without_its_zeros(text)) is not None:
                raise DataError(
                    f"the label {text!r} may be the class {name!r} without its zeros, as spreadsheets leave it, or the "
                    f"class number {int(text)}: write {name} (as text), or {self.number(int(text))} for the number."
                )
            return int(text)
        raise DataError(f"the label {text!r} is no class; expected {self._expected(text)}, or {INVALID}.")

    def write(self, label: int | None) -> str:
        """The text that is read back as this label: the name, or else the number.

        Example:
            >>> texts = ClassTexts(("cat", "invalid"), 2)
            >>> [texts.write(label) for label in (0, 1, None)]
            ['cat', '1', 'invalid']
        """
        if label is None:
            return INVALID
        if self.names is None:
            return str(label)
        name = self.names[label]
        if name not in ("", INVALID) and _is_utf8(name) and self.names.index(name) == label:
            return name
        return self.number(label)

    def number(self, label: int) -> str:
        """A text that is read back as this class whatever its name is.

        Example:
            >>> ClassTexts(("cat", "0"), 2).number(0)
            '00'
        """
        number = str(label)
        # A zero before it is the same number, but another text.
        while number in (self.names or ()) or self._without_its_zeros(number) is not None:
            number = "0" + number
        return number

    def _without_its_zeros(self, number: str) -> str | None:
        """The name of another class that reads so once its first zeros are gone."""
        for place, name in enumerate(self.names or ()):
            longer = len(name) > len(number) and _NUMBER.fullmatch(name)
            if longer and int(name) == int(number) and place != int(number):
                return name
        return None

    def _expected(self, text: str) -> str:
        if self.names is None:
            return f"a number from 0 to {self.count - 1}" if self.count else "a class's number, from 0"
        near = get_close_matches(text, self.names, n=1)
        if near:
            return f"a class's name (did you mean {near[0]!r}?) or number"
        listed = ", ".join(self.names[:_LISTED]) + (", …" if len(self.names) > _LISTED else "")
        return f"a class's name ({listed}) or number from 0"


def to_cell(text: str) -> str:
    """A text for a spreadsheet, which then neither runs nor trims it: where it might, with an apostrophe before it.

    Example:
        >>> [to_cell(text) for text in ("ann", "=1+1", "'s")]
        ['ann', "'=1+1", "''s"]
    """
    return f"'{text}" if _needs_apostrophe(text) else text


def from_cell(cell: str) -> str:
    """The text that `to_cell` took, or what a person wrote, without spaces around it.

    Example:
        >>> [from_cell(cell) for cell in (" ann ", "'=1+1", "''s", "'s")]
        ['ann', '=1+1', "'s", "'s"]
    """
    if cell.startswith("'") and _needs_apostrophe(cell[1:]):
        return cell[1:]
    return cell.strip()


def _needs_apostrophe(text: str) -> bool:
    return text.startswith("'") or text != text.strip() or without_formula(text) != text


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
