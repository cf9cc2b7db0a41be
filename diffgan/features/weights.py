"""Weights of known networks: from a file, or downloaded; never with anything in them that can run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from diffgan.errors import ModelError, UnsafeFileError
from diffgan.images import ByteImages

_HOW = "give the state_dict of the network, as torch.save or safetensors wrote it"


def read_tensors(path: Path) -> dict[str, Any]:
    """What a file of weights holds: tensors by name, perhaps below other names.

    Raises:
        UnsafeFileError: it holds more than tensors.
        ModelError: it is not there, or cannot be read.
    """
    if not path.is_file():
        raise ModelError(f"There is no file of weights {path}: {_HOW}.")
    try:
        if path.suffix.lower() == ".safetensors":
            from safetensors.torch import load_file

            return dict(load_file(path))
        content = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        if type(error).__name__ == "UnpicklingError" and "weights_only" in str(error).replace(" ", "_").lower():
            raise UnsafeFileError(f"{path} holds more than tensors, which could run code: {_HOW}.") from error
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise ModelError(f"{path} cannot be read as weights ({reason}): {_HOW}.") from error
    if not isinstance(content, dict):
        raise ModelError(f"{path} holds a {type(content).__name__}; expected tensors by name: {_HOW}.")
    return content


def download(fetch: Callable[[], Any], extractor: str) -> dict[str, Tensor]:
    """The tensors that `fetch` gets from the network or its cache.

    Raises:
        ModelError: they cannot be had.
    """
    try:
        tensors: dict[str, Tensor] = fetch()
    except Exception as error:
        raise ModelError(
            f"The weights of {extractor} cannot be downloaded ({error}): go online, or name a file with --weights."
        ) from error
    return tensors


def as_pixels(images: ByteImages, size: tuple[int, int] | None) -> Tensor:
    """Floats from 0 to 255, N x 3 x H x W: grey three times over, and resized where a size is given."""
    pixels = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float()
    if size is not None and tuple(pixels.shape[2:]) != size:
        pixels = functional.interpolate(pixels, size=size, mode="bilinear", align_corners=False, antialias=True)
    return pixels.expand(-1, 3, -1, -1)


def in_batches(
    images: ByteImages, run: Callable[[ByteImages], Tensor], *, batch: int, features: int
) -> np.ndarray[Any, np.dtype[np.float32]]:
    """Features (N x `features`) of some images at a time, so that the memory is bounded."""
    made = np.empty((len(images), features), dtype=np.float32)
    with torch.inference_mode():
        for start in range(0, len(images), batch):
            made[start : start + batch] = run(images[start : start + batch]).numpy()
    return made
