"""VGG16's convolutions, trained on ImageNet: the mean of the last one's maps over the image, 512 features."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from diffgan.errors import ModelError
from diffgan.features.learned import weights_fingerprint
from diffgan.features.weights import as_pixels, download, in_batches, read_tensors
from diffgan.images import ByteImages

#: Channels of the convolutions; "pool" halves the image.
LAYERS = (64, 64, "pool", 128, 128, "pool", 256, 256, 256, "pool", 512, 512, 512, "pool", 512, 512, 512)

#: Smaller images are enlarged to this: four halvings leave two pixels.
SMALLEST = 32

_FEATURES, _BATCH = 512, 64
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class Vgg16:
    """An `Extractor`.

    Args:
        network: the convolutions.
    """

    name = "vgg16"

    def __init__(self, network: nn.Module) -> None:
        self._network = network.eval()
        self.identity = f"vgg16-{weights_fingerprint(network.state_dict())}"

    def features(self, images: ByteImages) -> NDArray[np.float32]:
        """N x 512."""
        return in_batches(images, self._run, batch=_BATCH, features=_FEATURES)

    def _run(self, images: ByteImages) -> Tensor:
        height, width = images.shape[1:3]
        pixels = as_pixels(images, (max(height, SMALLEST), max(width, SMALLEST))) / 255
        mean, deviation = torch.tensor(_MEAN)[:, None, None], torch.tensor(_DEVIATION)[:, None, None]
        maps: Tensor = self._network((pixels - mean) / deviation)
        return maps.mean(dim=(2, 3))


def open_vgg16(weights: Path | None) -> Vgg16:
    """With weights from a file, or torchvision's (downloaded once, to torch's usual cache).

    Raises:
        ModelError: the file cannot be read or does not fit, or the download failed.
    """
    if weights is None:
        from torchvision.models import VGG16_Weights

        chosen = VGG16_Weights.IMAGENET1K_V1
        content: dict[str, Any] = download(lambda: chosen.get_state_dict(check_hash=True, weights_only=True), "vgg16")
    else:
        content = read_tensors(weights)
    with torch.device("meta"):
        network = _convolutions()
    try:
        network.load_state_dict(_of_convolutions(content), assign=True)
    except (RuntimeError, AttributeError, TypeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise ModelError(
            f"{weights or 'The download'} does not hold VGG16's convolutions ({reason} …): give torchvision's weights, "
            "with names such as features.0.weight."
        ) from error
    return Vgg16(network.float().requires_grad_(False))


def _convolutions() -> nn.Sequential:
    """Numbered as torchvision numbers them; what comes after the last convolution is left out."""
    layers, channels = list[nn.Module](), 3
    for layer in LAYERS:
        if isinstance(layer, str):
            layers.append(nn.MaxPool2d(2))
        else:
            layers += [nn.Conv2d(channels, layer, 3, padding=1), nn.ReLU()]
            channels = layer
    return nn.Sequential(*layers)


def _of_convolutions(content: dict[str, Any]) -> dict[str, Any]:
    """Their tensors, wherever in the file they are."""
    if isinstance(content.get("features"), dict):
        return dict(content["features"])
    prefix = "features."
    named = {key.removeprefix(prefix): value for key, value in content.items() if str(key).startswith(prefix)}
    return named or content
