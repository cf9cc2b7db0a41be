"""A training's checkpoint: one file, replaced whole, without a pickle."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from diffgan.drafts import replacing
from diffgan.errors import GeneratorError

FILE = "checkpoint.safetensors"


@dataclass(frozen=True)
class Checkpoint:
    """Where a training stands.

    Attributes:
        plan: what the training was asked for; going on under another plan is refused.
        steps: how many updates there will be, once that is known.
        seconds: the time spent so far.
        tensors: of the trainer.
    """

    plan: dict[str, Any]
    steps: int
    seconds: float
    tensors: dict[str, Tensor]


def write_checkpoint(folder: Path, checkpoint: Checkpoint) -> None:
    """Replaces the checkpoint of a training.

    Raises:
        GeneratorError: the disk refuses; the former checkpoint stands.
    """
    facts = {"plan": checkpoint.plan, "steps": checkpoint.steps, "seconds": checkpoint.seconds}
    try:
        with replacing(folder / FILE) as draft:
            save_file(checkpoint.tensors, draft, metadata={"facts": json.dumps(facts)})
    except (OSError, SafetensorError) as error:
        kept = "the former one stands" if (folder / FILE).exists() else "there is none before it"
        raise GeneratorError(
            f"The checkpoint cannot be written to {folder} ({error}): see the disk; {kept}."
        ) from error


def read_checkpoint(folder: Path) -> Checkpoint | None:
    """The checkpoint of a training, if there is one.

    Raises:
        GeneratorError: it is damaged.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            facts = json.loads(file.metadata()["facts"])
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - it is no mapping
        return Checkpoint(facts["plan"], facts["steps"], facts["seconds"], tensors)
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
        raise GeneratorError(
            f"{path} is damaged ({error}): restore it from a copy, or train again in another folder."
        ) from error


def check_same_plan(found: dict[str, Any], asked: dict[str, Any], folder: Path) -> None:
    """Refuses to go on under another plan, and shows the difference.

    Raises:
        GeneratorError: they differ.
    """
    was, now = json.loads(json.dumps(found)), json.loads(json.dumps(asked))
    changed = [
        f"{key} was {was.get(key)}, is {now.get(key)}" for key in sorted({*was, *now}) if was.get(key) != now.get(key)
    ]
    if changed:
        raise GeneratorError(
            f"The training in {folder} was started otherwise ({'; '.join(changed)}): go on as it was started, or train "
            "in another folder."
        )
