"""The cells of a study, in an order that makes an interrupted study useful."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import Any

from diffgan.bench.study import Study


@dataclass(frozen=True)
class Cell:
    """One run: a pair, a generator (None for a strategy that needs none), a strategy and a seed."""

    pair: str
    generator: str | None
    strategy: str
    seed: int

    @property
    def key(self) -> str:
        """What rows and messages call it.

        Example:
            >>> Cell("m1-m2", None, "dflare", 3).key
            'm1-m2/-/dflare/3'
        """
        return f"{self.pair}/{self.generator or '-'}/{self.strategy}/{self.seed}"


def cells_of(study: Study) -> list[Cell]:
    """All cells: everything with the first seed, then with the second, and so on."""
    return [
        Cell(pair, generator, strategy, seed)
        for seed in study.seeds
        for pair in study.pairs
        for generator in [None, *study.generators]
        for strategy in study.strategies
        if study.needs_generator(strategy) == (generator is not None)
    ]


def fingerprint_of(definition: dict[str, Any]) -> str:
    """Tells a cell's definition from any other."""
    return hashlib.sha256(json.dumps(definition, sort_keys=True).encode()).hexdigest()[:16]
