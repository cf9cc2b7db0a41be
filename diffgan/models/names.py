"""Choosing a model's input or output by name."""

from __future__ import annotations

from collections.abc import Sequence

from diffgan.errors import ModelError


def choose(model: str, kind: str, wanted: str | None, known: Sequence[str]) -> str:
    """The wanted name, or the first where none is wanted.

    Raises:
        ModelError: the model has no such name, or none at all.
    """
    if not known:
        raise ModelError(f"{model} has no {kind} at all: export it with one.")
    if wanted is None:
        return known[0]
    if wanted not in known:
        option = "features_name" if kind == "features" else f"{kind}_name"
        raise ModelError(f"{model} has no {kind} {wanted!r} ({option}); it has: {', '.join(known)}.")
    return wanted
