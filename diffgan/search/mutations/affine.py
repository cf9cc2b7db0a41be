"""Affine maps of whole batches, each image by its own; what comes from outside is black."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor
from torch.nn.functional import grid_sample

from diffgan.images import ByteImages

#: (N, 2, 3): where the pixel at (x, y) from the centre comes from, in pixels from the centre.
Sources = NDArray[np.float32]


def translations(dx: ArrayLike, dy: ArrayLike) -> Sources:
    """To the right by dx pixels, and down by dy.

    Example:
        >>> translations([2], [-1]).tolist()
        [[[1.0, 0.0, -2.0], [0.0, 1.0, 1.0]]]
    """
    right, down = np.asarray(dx, dtype=np.float32), np.asarray(dy, dtype=np.float32)
    return _sources(np.ones_like(right), 0, 0, 1, -right, -down)


def scalings(factor: ArrayLike) -> Sources:
    """Larger by a factor, in both directions."""
    inverse = 1 / np.asarray(factor, dtype=np.float32)
    return _sources(inverse, 0, 0, inverse)


def shears(slope: ArrayLike) -> Sources:
    """Each row to the right by the slope times its distance below the centre."""
    slopes = np.asarray(slope, dtype=np.float32)
    return _sources(np.ones_like(slopes), -slopes, 0, 1)


def rotations(degrees: ArrayLike) -> Sources:
    """Clockwise, as the image is seen."""
    radians = np.deg2rad(np.asarray(degrees, dtype=np.float32))
    cosine, sine = np.cos(radians), np.sin(radians)
    return _sources(cosine, sine, -sine, cosine)


def about_corner(sources: Sources, *, height: int, width: int) -> Sources:
    """The same maps about the upper left pixel in place of the centre."""
    corner = np.array([(width - 1) / 2, (height - 1) / 2], dtype=np.float32)
    moved = sources.copy()
    moved[:, :, 2] += sources[:, :, :2] @ corner - corner
    return moved


def warp(images: ByteImages, sources: Sources) -> ByteImages:
    """Each image by its own map, with bilinear interpolation.

    Args:
        images: uint8, N x H x W x C.
        sources: a map each, from one of the functions above.
    """
    planes = torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float()
    grid = _grid(torch.from_numpy(sources), height=images.shape[1], width=images.shape[2])
    warped = grid_sample(planes, grid, mode="bilinear", padding_mode="zeros", align_corners=False)
    # A weighted mean of bytes lies in their range but for rounding, which rounding to bytes takes care of.
    rounded: ByteImages = warped.round_().clamp_(0, 255).to(torch.uint8).numpy()
    return np.ascontiguousarray(rounded.transpose(0, 2, 3, 1))


def _grid(sources: Tensor, *, height: int, width: int) -> Tensor:
    """Where each pixel comes from, in torch's coordinates: -1 and 1 are the outer edges."""
    across = torch.arange(width, dtype=torch.float32) + (0.5 - width / 2)
    down = torch.arange(height, dtype=torch.float32) + (0.5 - height / 2)
    grid = torch.empty((len(sources), height, width, 2))
    for axis, half in enumerate((width / 2, height / 2)):
        by_x, by_y, fixed = (sources[:, axis, column, None] / half for column in range(3))
        torch.add((by_y * down + fixed)[:, :, None], (by_x * across)[:, None, :], out=grid[..., axis])
    return grid


def _sources(
    xx: NDArray[Any],
    xy: ArrayLike,
    yx: ArrayLike,
    yy: ArrayLike,
    x: ArrayLike = 0,
    y: ArrayLike = 0,
) -> Sources:
    made = np.empty((len(xx), 2, 3), dtype=np.float32)
    for row, values in enumerate(((xx, xy, x), (yx, yy, y))):
        for column, value in enumerate(values):
            made[:, row, column] = value
    return made
