"""The selector: which of two models to trust on an image."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffgan.selection.selector import Selection, Selector
    from diffgan.selection.training import Wanted, train_selector

_HOMES = {
    "Selection": "diffgan.selection.selector",
    "Selector": "diffgan.selection.selector",
    "Wanted": "diffgan.selection.training",
    "train_selector": "diffgan.selection.training",
}

__all__ = ["Selection", "Selector", "Wanted", "train_selector"]


def __getattr__(name: str) -> Any:
    """Imported when it is first used: whoever opens any model looks for adapters here."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'diffgan.selection' has no attribute {name!r}")
