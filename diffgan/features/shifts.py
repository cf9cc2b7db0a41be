"""Images moved a little, so that a classifier does not learn where in the frame a thing stands."""

from __future__ import annotations

import torch
from torch import Tensor

#: Of a side, either way; in whole pixels.
SHIFT = 0.1


def shifted_copies(images: Tensor, generator: torch.Generator) -> Tensor:
    """Each image (N x C x H x W) moved by whole pixels; what is uncovered repeats its edge."""
    count, _, height, width = images.shape
    rows, columns = (_places(count, side, generator) for side in (height, width))
    each = torch.arange(count)[:, None, None]
    return images[each, :, rows[:, :, None], columns[:, None, :]].permute(0, 3, 1, 2)


def _places(count: int, side: int, generator: torch.Generator) -> Tensor:
    reach = round(SHIFT * side)
    moved = torch.randint(-reach, reach + 1, (count, 1), generator=generator)
    return (torch.arange(side) + moved).clamp(0, side - 1)
