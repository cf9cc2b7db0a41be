"""Class names come from files: before they name folders or fill tables, they are made safe and told apart."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence

_LONGEST = 60  # bytes in UTF-8, so that two of them and an index stay below the 255 of a file name
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def safe_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """A name for each of `count` classes that is safe in any file system and differs from all others.

    Letters, digits and `_` stay; a name that is then empty, or equal to another but for case, gets its index after a
    dot, which no name keeps of its own. `-` does not stay either, so that `7-as-1` can be taken apart.

    Example:
        >>> safe_names(["cat", "Cat", "../etc", "T-shirt", ""], 6)
        ('cat.0', 'Cat.1', 'etc', 'T_shirt', 'class.4', 'class.5')
        >>> safe_names(None, 2)
        ('0', '1')
    """
    if names is None:
        return tuple(str(index) for index in range(count))
    cleaned = [_clean(name) for name in names] + [""] * (count - len(names))
    times = Counter(_fold(name) for name in cleaned)
    return tuple(
        name if name and times[_fold(name)] == 1 else f"{name or 'class'}.{index}" for index, name in enumerate(cleaned)
    )


def shown_names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    """A name for each of `count` classes as given, or its index where it has none; they need not differ."""
    given = list(names or [])
    return tuple(given[index] if index < len(given) else str(index) for index in range(max(count, len(given))))


def without_formula(text: str) -> str:
    """Text that a spreadsheet does not run: what looks like a formula gets a quote before it.

    Example:
        >>> without_formula('=HYPERLINK("http://example.org")')
        '\\'=HYPERLINK("http://example.org")'
    """
    risky = text.startswith(_FORMULA) or text.lstrip().startswith(_FORMULA)
    return f"'{text}" if risky else text


def _clean(name: str) -> str:
    letters = "".join(letter if letter.isalnum() else "_" for letter in unicodedata.normalize("NFC", name))
    return letters.encode()[:_LONGEST].decode(errors="ignore").strip("_")


def _fold(name: str) -> str:
    """Equal for names that some file system takes for the same."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
