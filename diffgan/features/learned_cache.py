"""Trained classifiers in the user's cache folder; what cannot be read there is trained anew."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file

from diffgan.cache import cache_folder
from diffgan.drafts import replacing
from diffgan.features.learned import LearnedClassifier, LearningSettings, Network

#: Of the network and its training: a change to either makes cached ones stale.
VERSION = 1


def cache_name(data: str, settings: LearningSettings, augmentation: str) -> str:
    """The file for a classifier: the data's fingerprint, and one of all that its training depends on.

    Args:
        data: the data's fingerprint.
        settings: of the training.
        augmentation: what the images went through, as a text.
    """
    facts = json.dumps([VERSION, asdict(settings), augmentation])
    return f"{data}-{hashlib.sha256(facts.encode()).hexdigest()[:12]}.safetensors"


def read_learned(name: str, settings: LearningSettings, *, of_classes: bool) -> LearnedClassifier | None:
    """The classifier from the cache, or None where it is not there or damaged."""
    path = _folder() / name
    if not path.is_file():
        return None
    with torch.random.fork_rng(devices=[]):
        network = Network(settings)
    try:
        with safe_open(path, framework="pt") as file:
            accuracy = json.loads(file.metadata()["accuracy"])
            network.load_state_dict({key: file.get_tensor(key) for key in file.keys()})  # noqa: SIM118 - it is no mapping
    except (OSError, SafetensorError, RuntimeError, ValueError, KeyError, TypeError):
        return None
    return LearnedClassifier(network, of_classes=of_classes, accuracy=accuracy)


def write_learned(name: str, classifier: LearnedClassifier) -> None:
    """Keeps a classifier for the next time; a folder that cannot be written to is no failure."""
    path = _folder() / name
    tensors = {key: value.contiguous() for key, value in classifier.network.state_dict().items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft:
            save_file(tensors, draft, metadata={"accuracy": json.dumps(classifier.accuracy)})
    except (OSError, SafetensorError):
        return


def _folder() -> Path:
    return cache_folder() / "learned"
