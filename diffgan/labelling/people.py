"""The names that people label under."""

from __future__ import annotations

import getpass

from diffgan.errors import UsageError
from diffgan.labels import is_machine

_LONGEST = 60


def annotator_name(text: str) -> str:
    """The name as it goes into the archive.

    Raises:
        UsageError: it is empty, too long, a judge's, or has characters that no list can show.

    Example:
        >>> annotator_name(" Ann Lee ")
        'Ann Lee'
    """
    name = " ".join(text.split())
    if not name or len(name) > _LONGEST or not name.isprintable():
        raise UsageError(f"The annotator's name is {text[:80]!r}; expected 1 to {_LONGEST} printable characters.")
    if is_machine(name):
        raise UsageError(f"The annotator's name is {name!r}, as if a model labelled: give a person's name.")
    return name


def login_name() -> str:
    """What the person at the keyboard is called here."""
    try:
        return annotator_name(getpass.getuser())
    except (OSError, KeyError, ImportError, UsageError):
        return "annotator"
