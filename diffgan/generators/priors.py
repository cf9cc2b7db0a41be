"""The distribution of latents that a generator was trained with, and the box in which a search moves."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, model_validator

Latents = NDArray[np.float32]
Points = NDArray[np.float64]

#: A search in the unit cube stops this short of its faces, where a normal quantile is infinite (about 6 sigma;
#: 5 in float32).
_MARGIN = 1e-9


class UniformPrior(BaseModel):
    """Independent and uniform: the search box is its support."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Literal["uniform"] = "uniform"
    low: float = -1.0
    high: float = 1.0

    @model_validator(mode="after")
    def _rises(self) -> UniformPrior:
        if not self.low < self.high:
            raise ValueError(f"a uniform prior must rise from low to high, not from {self.low} to {self.high}")
        return self

    @property
    def bounds(self) -> tuple[float, float]:
        """The search box, the same for every gene."""
        return (self.low, self.high)

    def to_latents(self, points: Points | NDArray[np.float32]) -> Latents:
        """What the generator receives for points of the search box: the points themselves."""
        return points.astype(np.float32)

    def to_points(self, latents: Latents) -> Points:
        """The points of the search box that stand for latents; the inverse of `to_latents`."""
        return latents.astype(np.float64)

    def sample(self, count: int, size: int, rng: np.random.Generator) -> Latents:
        """Seeded draws, (count, size)."""
        return self.to_latents(rng.uniform(self.low, self.high, (count, size)))


class NormalPrior(BaseModel):
    """Independent and standard normal: the search box is the unit cube, mapped through the quantile function."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Literal["normal"] = "normal"

    @property
    def bounds(self) -> tuple[float, float]:
        """The search box, the same for every gene."""
        return (0.0, 1.0)

    def to_latents(self, points: Points | NDArray[np.float32]) -> Latents:
        """What the generator receives for points of the unit cube: equal volumes are equally probable."""
        import torch

        margin = max(_MARGIN, float(np.finfo(points.dtype).epsneg))
        inner = torch.from_numpy(points).clamp(margin, 1 - margin)
        # The normal quantile; torch has it as such, too, and scipy, at three times the cost.
        latents: Latents = inner.mul_(2).sub_(1).erfinv_().mul_(math.sqrt(2)).float().numpy()
        return latents

    def to_points(self, latents: Latents) -> Points:
        """The points of the unit cube that stand for latents; the inverse of `to_latents`."""
        from scipy.special import ndtr

        points: Points = ndtr(latents.astype(np.float64))
        return points

    def sample(self, count: int, size: int, rng: np.random.Generator) -> Latents:
        """Seeded draws, (count, size)."""
        return rng.standard_normal((count, size), dtype=np.float32)


Prior = Annotated[UniformPrior | NormalPrior, Field(discriminator="name")]
