"""What a person looks at while and after a GAN is trained: a grid of samples, and the curves of the losses."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

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

    entries = _entries(source)
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
        with replacing(folder / "losses.png") as draft:
            figure.savefig(draft, dpi=120, format="png")
    except OSError as error:
        raise GeneratorError(f"{folder} cannot be written to ({error.strerror}): see the disk.") from error


def cut_metrics(folder: Path, step: int) -> None:
    """Drops the entries of `metrics.jsonl` beyond an update, which a training that goes on will make again.

    Raises:
        GeneratorError: the disk refuses.
    """
    source = folder / "metrics.jsonl"
    if not source.is_file():
        return
    kept = [json.dumps(entry) + "\n" for entry in _entries(source) if entry["step"] <= step]
    try:
        with replacing(source) as draft:
            draft.write_text("".join(kept), encoding="utf-8")
    except OSError as error:
        raise GeneratorError(f"{folder} cannot be written to ({error.strerror}): see the disk.") from error


def write_page(folder: Path, *, live: bool) -> None:
    """`watch.html`: samples and curves in a browser; while the training runs, the page renews itself.

    Raises:
        GeneratorError: the disk refuses.
    """
    renew = '<meta http-equiv="refresh" content="5">' if live else ""
    state = "in training; this page renews itself" if live else "trained"
    try:
        with replacing(folder / "watch.html") as draft:
            draft.write_text(_PAGE.format(renew=renew, state=state), encoding="utf-8")
    except OSError as error:
        raise GeneratorError(f"{folder} cannot be written to ({error.strerror}): see the disk.") from error


def _entries(metrics: Path) -> list[dict[str, Any]]:
    """The entries of a file of curves; a last line that a kill cut short is left out."""
    entries = []
    for line in metrics.read_text(encoding="utf-8").splitlines():
        try:
            entries.append(json.loads(line))
        except ValueError:
            break
    return entries


_PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>diffgan: a generator</title>
{renew}
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }}
img {{ max-width: 100%; }}
img.curves {{ background: white; }}
</style>
<h1>A generator, {state}</h1>
<p>One class a column, where there are ten; the samples are always of the same latents.</p>
<img src="samples.png" alt="Samples come with the first checkpoint.">
<p>Losses, and the discriminator's mean scores of real and generated images:</p>
<img class="curves" src="losses.png" alt="Curves come later.">
</html>
"""
