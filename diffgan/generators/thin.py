"""Convolutions to few channels, which general kernels take as long for as for sixteen.

Each is done as a convolution to more channels on fewer places: those of a block of pixels, which are then put side by
side.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional

#: The most channels that a block's pixels make together: so many cost what fewer do.
_MOST = 16
#: The most channels of a map for which it pays to make whole rows of it.
_MOST_OF_ROWS = 32


class ThinConvolution(nn.Conv2d):
    """A 3 × 3 convolution, padded by one; outside training, of blocks of pixels."""

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__(channels, outputs, 3, padding=1)

    def forward(self, hidden: Tensor) -> Tensor:
        """N x outputs x H x W."""
        block = 1 if self.training else self._block(hidden)
        if block == 1:
            return super().forward(hidden)
        pixels = [
            functional.pad(self.weight, (right, block - 1 - right, down, block - 1 - down))
            for down in range(block)
            for right in range(block)
        ]
        weight = torch.stack(pixels, dim=1).flatten(0, 1).contiguous(memory_format=torch.channels_last)
        bias = None if self.bias is None else self.bias.repeat_interleave(block * block)
        return functional.pixel_shuffle(functional.conv2d(hidden, weight, bias, stride=block, padding=1), block)

    def _block(self, hidden: Tensor) -> int:
        """The side of the largest block that pays, and that the map is made of."""
        for side in (4, 2):
            if self.out_channels * side**2 <= _MOST and not any(pixels % side for pixels in hidden.shape[2:]):
                return side
        return 1


class DoublingConvolution(nn.ConvTranspose2d):
    """A transposed convolution that doubles a map's sides; in bfloat16, outside training, two that give whole rows."""

    def __init__(self, channels: int, outputs: int) -> None:
        super().__init__(channels, outputs, 4, stride=2, padding=1, bias=False)

    def forward(self, hidden: Tensor, output_size: list[int] | None = None) -> Tensor:
        """N x outputs x 2H x 2W."""
        by_rows = hidden.dtype is torch.bfloat16 and self.out_channels <= _MOST_OF_ROWS
        if self.training or output_size is not None or not by_rows:
            return super().forward(hidden, output_size)
        count, _, height, width = hidden.shape
        made = hidden.new_empty(count, height, 2, 2 * width * self.out_channels)
        # Even rows of the result have the rows 3 and 1 of the kernel, odd ones 2 and 0; so it is with columns.
        for odd, taps in enumerate(((3, 1), (2, 0))):
            kernel = self.weight[:, :, taps]
            left, right = functional.pad(kernel[..., (3, 1)], (0, 1)), functional.pad(kernel[..., (2, 0)], (1, 0))
            both = torch.stack([left, right]).permute(0, 2, 1, 3, 4).flatten(0, 1)
            rows = functional.conv2d(hidden, both.contiguous(memory_format=torch.channels_last), padding=1)
            made[:, :, odd] = rows.permute(0, 2, 3, 1)[:, odd : odd + height].flatten(2)
        return made.view(count, 2 * height, 2 * width, self.out_channels).permute(0, 3, 1, 2)


def conv_transpose(
    hidden: Tensor, weight: Tensor, bias: Tensor | None, *, stride: int, padding: int, more: int
) -> Tensor:
    """What `functional.conv_transpose2d` gives: a convolution to the `stride` by `stride` pixels of each place.

    Args:
        hidden: N x C x H x W.
        weight: C x outputs x K x K.
        bias: of the outputs.
        stride: how far the places of the map lie apart in the result.
        padding: how much of the rim is cut off.
        more: rows and columns that are not cut off at the far side; at most `padding`.
    """
    channels, outputs, size, _ = weight.shape
    taps = -(-size // stride)
    rim = taps * stride - size
    # A pixel's taps lie a stride apart; a convolution meets them in the opposite order.
    split = functional.pad(weight, (0, rim, 0, rim)).view(channels, outputs, taps, stride, taps, stride).flip(2, 4)
    blocks = split.permute(1, 3, 5, 0, 2, 4).reshape(outputs * stride**2, channels, taps, taps)
    shift = None if bias is None else bias.repeat_interleave(stride**2)
    kernel = blocks.contiguous(memory_format=torch.channels_last)
    whole = functional.pixel_shuffle(functional.conv2d(hidden, kernel, shift, padding=taps - 1), stride)
    height, width = ((side - 1) * stride - 2 * padding + size + more for side in hidden.shape[2:])
    return whole[..., padding : padding + height, padding : padding + width]
