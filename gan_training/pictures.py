"""What a person looks at while and after a GAN is trained: a grid of samples, and the curves of the losses."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
from torch import Tensor

from diffgan.drafts import replacing
from diffgan.errors import GeneratorError
from diffgan.images import ByteImages, to_bytes


def write_grid(path: Path, images: Tensor | ByteImages) -> None:
    """A PNG with the images side by side, as square as they allow, each at least 28 pixels wide.

    Raises:
        GeneratorError: the disk refuses.
    """
    from PIL import Image

    pixels = to_bytes(images.clamp(0, 1).numpy()) if isinstance(images, Tensor) else images
    count, height, width, channels = pixels.shape
    columns = math.ceil(math.sqrt(count))
    rows = math.ceil(count / columns)
    sheet = np.full((rows * (height + 1) + 1, columns * (width + 1) + 1, channels), 128, dtype=np.uint8)
    for number, image in enumerate(pixels):
        top, left = 1 + number // columns * (height + 1), 1 + number % columns * (width + 1)
        sheet[top : top + height, left : left + width] = image
    factor = max(1, -(-28 // width))
    picture = Image.fromarray(sheet[..., 0] if channels == 1 else sheet)
    try:
        with replacing(path) as draft:
            picture.resize((picture.width * factor, picture.height * factor), Image.Resampling.NEAREST).save(
                draft, "PNG"
            )
    except OSError as error:
        raise GeneratorError(f"{path} cannot be written ({error.strerror or error}): see the disk.") from error


def write_curves(folder: Path) -> None:
    """`losses.png` from `metrics.jsonl`, where there is one.

    Raises:
        GeneratorError: the disk refuses.
    """
    source = folder / "metrics.jsonl"
    if not source.is_file():
        return
    from matplotlib.figure import Figure

    entries = [json.loads(line) for line in source.read_text(encoding="utf-8").splitlines()]
    figure = Figure(figsize=(8, 5), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True)
    steps = [entry["step"] for entry in entries]
    for axes, names in ((above, ("discriminator", "generator")), (below, ("real", "fake"))):
        for name in names:
            axes.plot(steps, [entry[name] for entry in entries], label=name, linewidth=1)
        axes.legend(frameon=False)
    above.set_ylabel("loss")
    below.set_ylabel("mean score")
    below.set_xlabel("update")
    try:
        figure.savefig(folder / "losses.png", dpi=120)
    except OSError as error:
        raise GeneratorError(f"{folder} cannot be written to ({error.strerror}): see the disk.") from error
