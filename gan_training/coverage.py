"""Which classes samples show, told by the nearest real image: rough, but free of any training."""

from __future__ import annotations

import torch
from torch import Tensor

#: Real images that samples are compared with, and a share below which a class is too rare to be missed.
REAL_IMAGES, RARE = 2000, 0.02


class ClassCoverage:
    """Looks for classes that samples lack.

    The nearest neighbour takes some classes for others, on photographs often; so only classes count that it finds
    among real images, too.

    Args:
        images: real ones, N x C x H x W.
        labels: N.
    """

    def __init__(self, images: Tensor, labels: Tensor) -> None:
        # Evenly spread: folders of images come class by class.
        rows = torch.linspace(0, len(images) - 1, min(REAL_IMAGES, len(images))).long()
        self._real, self._labels = _unit(images[rows]), labels[rows]
        likeness = self._real @ self._real.T
        likeness.fill_diagonal_(-2)
        shares = torch.bincount(self._labels[likeness.argmax(dim=1)]) / len(self._labels)
        self.expected = torch.nonzero(shares > RARE).squeeze(1)

    def missing(self, samples: Tensor) -> list[int]:
        """The classes that real images show, and not one of the samples does."""
        seen = torch.bincount(self._labels[(_unit(samples) @ self._real.T).argmax(dim=1)], minlength=1)
        return [int(label) for label in self.expected if label >= len(seen) or seen[label] == 0]


def _unit(images: Tensor) -> Tensor:
    flat = images.flatten(1)
    unit: Tensor = flat / flat.norm(dim=1, keepdim=True).clamp_min(1e-12)
    return unit
