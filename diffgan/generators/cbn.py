"""Batch normalisation whose scale and shift may depend on the class."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class ClassBatchNorm(nn.Module):
    """Batch normalisation with one scale and shift per class; with no classes, plain batch normalisation."""

    def __init__(self, channels: int, classes: int | None) -> None:
        super().__init__()
        self.normalise = nn.BatchNorm2d(channels, affine=False)
        rows = classes or 1
        self.scale = nn.Parameter(torch.ones(rows, channels))
        self.shift = nn.Parameter(torch.zeros(rows, channels))

    def forward(self, hidden: Tensor, labels: Tensor | None) -> Tensor:
        """Normalises N x C x H x W."""
        if labels is None:
            scale, shift = self.scale[:1], self.shift[:1]
        else:
            scale, shift = self.scale[labels], self.shift[labels]
        if not self.training:
            # Folded into one multiplication and one addition: a search spends its time here.
            mean, variance = self.normalise.running_mean, self.normalise.running_var
            assert mean is not None
            assert variance is not None
            scale = scale * torch.rsqrt(variance + self.normalise.eps)
            # Of the kind of what they are applied to, which else is copied there and back.
            shift, scale = (shift - scale * mean).to(hidden.dtype), scale.to(hidden.dtype)
            if hidden.is_contiguous(memory_format=torch.channels_last):
                return _by_rows(hidden, scale, shift)
            return torch.addcmul(shift[:, :, None, None], hidden, scale[:, :, None, None])
        return torch.addcmul(shift[:, :, None, None], self.normalise(hidden), scale[:, :, None, None])


def _by_rows(hidden: Tensor, scale: Tensor, shift: Tensor) -> Tensor:
    """Scales and shifts maps of which a pixel's channels lie side by side: fewer of them than a register holds would be
    taken one by one, so it is done a row of pixels at a time."""
    count, channels, height, width = hidden.shape
    rows = hidden.permute(0, 2, 3, 1).reshape(count, height, width * channels)
    scale, shift = (each.repeat(1, width).unsqueeze(1) for each in (scale, shift))
    return torch.addcmul(shift, rows, scale).view(count, height, width, channels).permute(0, 3, 1, 2)
