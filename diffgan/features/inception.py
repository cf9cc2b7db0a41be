"""InceptionV3 as published FIDs use it: 2,048 features of its last pooling."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from diffgan.errors import MissingExtraError, ModelError
from diffgan.features.learned import weights_fingerprint
from diffgan.features.weights import as_pixels, download, in_batches, read_tensors
from diffgan.images import ByteImages

SIDE = 299

_FEATURES, _BATCH = 2048, 32
_SCRIPTS = (".pt", ".ts")


class Inception:
    """An `Extractor`.

    Args:
        run: 2,048 features for each of some images.
        fingerprint: of its weights.
    """

    name = "inception"

    def __init__(self, run: Callable[[ByteImages], Tensor], *, fingerprint: str) -> None:
        self._run = run
        self.identity = f"inception-{fingerprint}"

    def features(self, images: ByteImages) -> NDArray[np.float32]:
        """N x 2048."""
        return in_batches(images, self._run, batch=_BATCH, features=_FEATURES)


def open_inception(weights: Path | None, *, open_module: Callable[[Path], Callable[..., Any]]) -> Inception:
    """With torch-fidelity's weights (downloaded once, to torch's usual cache), or a file's.

    Args:
        weights: TorchScript (.pt, .ts) that takes pixels as (x - 128) / 128, or a state_dict for torch-fidelity's
            network; None: torch-fidelity's own.
        open_module: opens a TorchScript file after a look at what is inside.

    Raises:
        ModelError: the file cannot be read or does not fit, or the download failed.
        MissingExtraError: torch-fidelity is not installed, and the file is no TorchScript.
    """
    if weights is not None and weights.suffix.lower() in _SCRIPTS:
        return _from_script(weights, open_module)
    return _from_fidelity(weights)


def _from_script(path: Path, open_module: Callable[[Path], Callable[..., Any]]) -> Inception:
    if not path.is_file():
        raise ModelError(f"There is no file of weights {path}: give InceptionV3 as TorchScript.")
    module = open_module(path)

    def run(images: ByteImages) -> Tensor:
        features: Tensor = module((as_pixels(images, (SIDE, SIDE)) - 128) / 128)
        return features

    try:
        with torch.inference_mode():
            made = run(np.zeros((2, SIDE, SIDE, 3), dtype=np.uint8))
    except Exception as error:
        reason = next((line.strip() for line in reversed(str(error).splitlines()) if line.strip()), "it fails")
        raise ModelError(f"{path} fails on images of 3×{SIDE}×{SIDE} ({reason}): give InceptionV3.") from error
    if not isinstance(made, Tensor) or tuple(made.shape) != (2, _FEATURES) or not torch.isfinite(made).all():
        given = f"shape {tuple(made.shape)}" if isinstance(made, Tensor) else f"a {type(made).__name__}"
        raise ModelError(
            f"{path} gives {given} for two images; expected (2, {_FEATURES}), all finite: give InceptionV3."
        )
    with path.open("rb") as file:
        return Inception(run, fingerprint=hashlib.file_digest(file, "sha256").hexdigest()[:8])


def _from_fidelity(weights: Path | None) -> Inception:
    """Torch-fidelity would unpickle whatever its file holds: it is given a copy of what was read as tensors alone."""
    try:
        address = import_module("torch_fidelity.feature_extractor_inceptionv3").URL_INCEPTION_V3
    except ImportError:
        raise MissingExtraError(
            "torch-fidelity", "inception", "InceptionV3 (unless --weights names a TorchScript file)"
        ) from None
    from torchmetrics.image.fid import NoTrainInceptionV3

    tensors = read_tensors(weights) if weights is not None else download(lambda: _fetch(address), "inception")
    with TemporaryDirectory() as folder:
        copy = Path(folder) / "weights.pth"
        torch.save(tensors, copy)
        try:
            with torch.random.fork_rng(devices=[]):
                network = NoTrainInceptionV3("inception-v3-compat", ["2048"], feature_extractor_weights_path=str(copy))
        except (RuntimeError, AttributeError, TypeError) as error:
            reason = " ".join(str(error).split())[:120]
            raise ModelError(
                f"{weights or 'The download'} does not hold InceptionV3 ({reason} …): give torch-fidelity's weights."
            ) from error
    network.requires_grad_(False)

    def run(images: ByteImages) -> Tensor:
        features: Tensor = network(as_pixels(images, None).to(torch.uint8))  # it resizes by itself
        return features

    return Inception(run, fingerprint=weights_fingerprint(network.state_dict()))


def _fetch(address: str) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = torch.hub.load_state_dict_from_url(
        address, map_location="cpu", check_hash=True, weights_only=True
    )
    return tensors
