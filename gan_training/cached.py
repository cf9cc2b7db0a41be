"""Trained generators in the user's cache: a GAN serves every pair of models on its data, so it is trained once."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError

from diffgan.cache import cache_folder
from diffgan.datasets import Dataset
from diffgan.errors import GeneratorError
from diffgan.gan_training.alarms import HopelessError
from diffgan.gan_training.checkpoint import read_checkpoint
from diffgan.gan_training.settings import TrainingSettings
from diffgan.gan_training.sharing import copy_result
from diffgan.gan_training.training import Progress, Training
from diffgan.generators.artifact import read_discriminator, read_generator
from diffgan.generators.card import CARD_VERSION
from diffgan.locks import locked

#: Counted up when the same settings come to give other weights.
_TRAINING_VERSION = 1


@dataclass(frozen=True)
class CachedGenerator:
    """A generator in the cache.

    Attributes:
        folder: the artifact.
        reused: whether it was there before.
    """

    folder: Path
    reused: bool


def cache_key(dataset: Dataset, settings: TrainingSettings, *, seed: int, budget: float | None = None) -> str:
    """What tells trainings apart: data, settings, seed, and the time where that ends the training."""
    # Under a time budget the configured steps have no say.
    ignored = {"steps"} if budget is not None else set()
    facts = {
        "data": dataset.fingerprint,
        "settings": settings.model_dump(mode="json", exclude=ignored),
        "seed": seed,
        "budget": budget,
        "form": [CARD_VERSION, _TRAINING_VERSION],
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:32]


def find_cached(key: str) -> Path | None:
    """The folder of a generator that was trained earlier; None where there is none, or it is damaged."""
    folder = _entry(key)
    try:
        read_generator(folder)
        read_discriminator(folder)
    except (GeneratorError, OSError):
        return None
    return folder


def take_cached(key: str, out: Path) -> Path | None:
    """Copies a generator that was trained earlier, with its pictures, into a folder of its own.

    Returns:
        Where in the cache it is; None where there is none, and then nothing is copied.

    Raises:
        GeneratorError: the folder is in use, or the disk refuses.
    """
    found = find_cached(key)
    if found is None:
        return None
    try:
        if out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise GeneratorError(f"{out} is there and not empty: give another --out.")
        copy_result(found, out)
    except OSError as error:
        raise GeneratorError(
            f"The generator in the cache cannot be copied to {out} ({error.strerror or error}): see the disk, or give "
            "another --out."
        ) from error
    return found


def remember(folder: Path, key: str) -> Path | None:
    """Puts the result of a training into the cache, in place of a damaged one.

    Returns:
        Where it is; None where the cache cannot be written, which is no failure of the training.
    """
    try:
        _generators().mkdir(parents=True, exist_ok=True)
        with locked(_beside(key, "lock")):
            return find_cached(key) or _published(folder, key)
    except OSError:
        return None


def cached_generator(
    dataset: Dataset,
    settings: TrainingSettings,
    *,
    seed: int = 0,
    device: torch.device | None = None,
    report: Callable[[Progress], None] = lambda _: None,
) -> CachedGenerator:
    """The generator of some data and settings, from the cache where it is there, else trained and put there.

    It is trained by its steps, so that the same inputs give the same GAN. A training that was killed goes on where it
    was; a second process that wants the same generator waits for the first.

    Args:
        dataset: what to train on.
        settings: how.
        seed: of everything random.
        device: where the networks are.
        report: called after each update; not at all where it was cached.

    Raises:
        GeneratorError: the training is hopeless, or the cache cannot be written.
    """
    key = cache_key(dataset, settings, seed=seed)
    found = find_cached(key)
    if found is not None:
        return CachedGenerator(found, reused=True)
    try:
        _generators().mkdir(parents=True, exist_ok=True)
        with locked(_beside(key, "lock")):
            found = find_cached(key)
            if found is not None:
                return CachedGenerator(found, reused=True)
            work = _beside(key, "training")
            _train(Training(dataset, settings, work, seed=seed, device=device), work, report)
            folder = _published(work, key)
            shutil.rmtree(work, ignore_errors=True)
            return CachedGenerator(folder, reused=False)
    except OSError as error:
        raise GeneratorError(
            f"The generator cannot be kept in the cache {_generators()} ({error.strerror or error}): see the disk, or "
            "set DIFFGAN_CACHE to a folder that can be written."
        ) from error


def _train(training: Training, work: Path, report: Callable[[Progress], None]) -> None:
    if _can_go_on(work):
        try:
            training.run(resume=True, report=report)
            return
        except HopelessError:
            raise
        except GeneratorError as error:
            # A checkpoint of another version or device is no loss; a full disk is for the user to see.
            if isinstance(error.__cause__, (OSError, SafetensorError)):
                raise
    shutil.rmtree(work, ignore_errors=True)
    training.run(report=report)


def _can_go_on(work: Path) -> bool:
    try:
        return read_checkpoint(work) is not None
    except GeneratorError:
        return False


def _published(folder: Path, key: str) -> Path:
    """Copies a result beside its entry, and renames it: another process sees it whole or not at all."""
    draft, entry = _beside(key, f"{os.getpid()}.part"), _entry(key)
    shutil.rmtree(draft, ignore_errors=True)
    try:
        copy_result(folder, draft)
        if entry.exists():
            shutil.rmtree(entry)
        draft.rename(entry)
    finally:
        shutil.rmtree(draft, ignore_errors=True)
    return entry


def _generators() -> Path:
    return cache_folder() / "generators"


def _entry(key: str) -> Path:
    return _generators() / key


def _beside(key: str, kind: str) -> Path:
    return _generators() / f".{key}.{kind}"
