"""What `diffgan inspect` shows of a generator."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from diffgan.cli.console import print_facts, print_json
from diffgan.generators.card import read_card
from diffgan.generators.generator import Generator, load_generator

_SAMPLES = 1024


def show_generator(path: Path, *, as_json: bool) -> None:
    """Opens a generator, has it make some images, and prints what it is."""
    generator = load_generator(path)
    facts = _facts(generator) | (_trained(path) if path.is_dir() else {})
    if as_json:
        print_json(facts)
    else:
        print_facts(generator.name, {name.replace("_", " "): value for name, value in facts.items()})


def _facts(generator: Generator) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    generator.sample(_SAMPLES, rng)
    start = perf_counter()
    generator.sample(_SAMPLES, rng)
    return {
        "generator": generator.name,
        "image": str(generator.spec),
        "latent": generator.latent,
        "prior": generator.prior.model_dump(),
        "classes": generator.classes or "not conditional",
        "images_per_second": round(_SAMPLES / (perf_counter() - start)),
        "fingerprint": generator.fingerprint,
    }


def _trained(folder: Path) -> dict[str, Any]:
    card = read_card(folder)
    return {
        "data": f"{card.data.name} ({card.data.images:,} images, {len(card.data.held_out):,} held out)",
        "data_fingerprint": card.data.fingerprint,
        "updates": card.training.get("steps_done", "unknown"),
        "seconds": card.training.get("seconds", "unknown"),
    }
