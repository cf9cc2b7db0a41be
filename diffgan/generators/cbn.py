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
            shift = shift - scale * mean
            return torch.addcmul(shift[:, :, None, None], hidden, scale[:, :, None, None])
        return torch.addcmul(shift[:, :, None, None], self.normalise(hidden), scale[:, :, None, None])
