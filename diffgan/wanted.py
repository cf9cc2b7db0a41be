"""What may be asked of a comparison."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffgan.datasets import Dataset
from diffgan.errors import UsageError
from diffgan.search.budgets import Budget
from diffgan.search.divergence import DEFAULT as DEFAULT_DIVERGENCE
from diffgan.search.strategies.protocol import DEFAULT_BATCH

DEFAULT_SECONDS = 600.0


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """Everything that a comparison may be asked for; the fields are `compare`'s arguments."""

    data: str | os.PathLike[str] | Dataset
    generator: str | os.PathLike[str] | None = None
    strategy: str = "nsga2"
    settings: Mapping[str, Any] = field(default_factory=dict)
    divergence: str = DEFAULT_DIVERGENCE
    budget: Budget = field(default_factory=Budget)
    min_distance: float | None = None
    config: str | None = None
    out: Path | None = None
    resume: bool = False
    seed: int = 0
    batch: int = DEFAULT_BATCH
    filters: bool = True
    discriminator: Path | None = None
    references: str | None = None
    report: bool = True
    options_a: Mapping[str, Any] | None = None
    options_b: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """From Python, folders may be given as texts."""
        for name in ("out", "discriminator"):
            given = getattr(self, name)
            object.__setattr__(self, name, None if given is None else Path(given))


def budget_of(**limits: float | None) -> Budget:
    """Limits, checked.

    Raises:
        UsageError: one is not above 0.
    """
    for name, limit in limits.items():
        if limit is not None and not limit > 0:
            raise UsageError(f"A budget of {limit} {name} ends before it begins: give more than 0.")
    return Budget.model_validate(limits)
