"""Seeded random generators that a checkpoint can hold."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray


def seeded(seed: int, purpose: str) -> np.random.Generator:
    """A generator of its own for each purpose, so that a draw more in one leaves the others as they are."""
    return np.random.default_rng([seed, *purpose.encode()])


def pack_generator(rng: np.random.Generator) -> NDArray[np.uint8]:
    """Where the generator stands, as the bytes of a JSON text."""
    return np.frombuffer(json.dumps(rng.bit_generator.state, default=int).encode(), dtype=np.uint8)


def unpack_generator(rng: np.random.Generator, packed: NDArray[Any]) -> None:
    """Puts the generator where `pack_generator` found it."""
    rng.bit_generator.state = json.loads(np.asarray(packed, dtype=np.uint8).tobytes())
