"""What the page says of a run as a whole."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from diffgan.errors import UsageError
from diffgan.runs import RunFolder

_LONGEST = 60


@dataclass(frozen=True, kw_only=True)
class Cover:
    """What the page says of the run as a whole.

    Attributes:
        run: its name.
        begun: tells by which call and process it was begun; empty for an archive that stands alone.
        model_a: A's name.
        model_b: B's name.
        annotator: who labels, until the page is told otherwise.
        everything: whether rejected triggers are labelled, too.
        shared: whether others reach the page, so that it asks who labels.
    """

    run: str
    begun: str
    model_a: str
    model_b: str
    annotator: str
    everything: bool
    shared: bool = False


def cover_of(folder: Path, *, annotator: str, everything: bool, shared: bool = False) -> Cover:
    """The cover of the run in a folder; where that does not name the models, they have no names."""
    try:
        models = RunFolder(folder).config().get("models")
    except UsageError:  # an archive may stand alone
        models = None
    names = models if isinstance(models, dict) else {}
    return Cover(
        run=folder.resolve().name,
        begun=RunFolder(folder).beginning(),
        model_a=_model_name(names.get("a")),
        model_b=_model_name(names.get("b")),
        annotator=annotator,
        everything=everything,
        shared=shared,
    )


def _model_name(described: Any) -> str:
    """The end of a model's path or address, without what may be secret in it."""
    source = str(described.get("source") or "") if isinstance(described, dict) else ""
    if re.match("https?://", source):
        source = urlsplit(source).path
    return source.rstrip("/\\").replace("\\", "/").rpartition("/")[2][-_LONGEST:]
