"""`diffgan gan sample`: images from a generator's prior."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from diffgan.cli.console import print_note
from diffgan.drafts import replacing
from diffgan.errors import UsageError


def sample(
    generator: Annotated[Path, typer.Argument(metavar="DIR|FILE", help="A generator.")],
    count: Annotated[int, typer.Option("--count", min=1, help="How many images.")],
    out: Annotated[Path, typer.Option("--out", metavar="FILE.npz|FILE.png", help="The file to write.")],
    seed: Annotated[int, typer.Option("--seed", min=0, help="The same seed gives the same images.")] = 0,
) -> None:
    """Write images from a generator's prior: an npz with latents (and classes), or a picture."""
    import numpy as np

    from diffgan.generators.generator import load_generator

    form = out.suffix.lower()
    if form not in (".npz", ".png"):
        raise UsageError(f"--out takes a file that ends in .npz or .png, not {out}.")
    if not out.parent.is_dir():
        raise UsageError(f"There is no folder {out.parent} to write {out.name} to: make it first.")
    images, latents, classes = load_generator(generator).sample(count, np.random.default_rng(seed))
    if form == ".png":
        from diffgan.gan_training.pictures import write_grid

        write_grid(out, images)
    else:
        with replacing(out) as draft, draft.open("wb") as file:
            if classes is None:
                np.savez_compressed(file, images=images, latents=latents)
            else:
                np.savez_compressed(file, images=images, latents=latents, labels=classes)
    print_note(f"{count:,} image{'' if count == 1 else 's'} written to {out}")
