"""Results that move whole into a folder that several processes share."""

from __future__ import annotations

import shutil
from pathlib import Path

from diffgan.drafts import replacing

CARD = "card.json"
#: What a search or a filter needs; the card goes last, so that a folder with a card is whole.
ARTIFACT = ("generator.safetensors", "discriminator.safetensors", CARD)
#: What a person looks at.
PICTURES = ("samples.png", "losses.png", "metrics.jsonl", "watch.html")


def copy_result(source: Path, target: Path) -> None:
    """Copies artifact and pictures; each file is replaced whole, and the card comes last.

    Raises:
        OSError: the disk refuses, or a file of the artifact is missing; the target has no card then.
    """
    target.mkdir(parents=True, exist_ok=True)
    (target / CARD).unlink(missing_ok=True)
    for name in (*PICTURES, *ARTIFACT):
        if name in ARTIFACT or (source / name).is_file():
            with replacing(target / name) as draft:
                shutil.copyfile(source / name, draft)
        else:
            (target / name).unlink(missing_ok=True)
