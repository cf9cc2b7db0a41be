"""Precision, recall, density and coverage from nearest neighbours, in blocks of bounded memory."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict
from torch import Tensor

from diffgan.errors import DataError

#: Neighbours that make an image's surroundings.
K = 5

_BLOCK_VALUES = 1 << 24


class Surroundings(BaseModel):
    """How samples and real images lie among one another, by the distance to the k-th nearest of one's own kind.

    Attributes:
        precision: share of samples within some real image's surroundings.
        recall: share of real images within some sample's surroundings.
        density: real surroundings that a sample lies in, on average, divided by k; may exceed 1.
        coverage: share of real images with a sample in their surroundings.
    """

    model_config = ConfigDict(frozen=True)

    precision: float
    recall: float
    density: float
    coverage: float


def surroundings(real: NDArray[np.float32], samples: NDArray[np.float32], *, k: int = K) -> Surroundings:
    """Compares samples (M x F) with real images (N x F), on features, in Euclidean distance.

    Raises:
        DataError: there are not more than k of either.
    """
    for title, vectors in (("real images", real), ("samples", samples)):
        if len(vectors) <= k:
            raise DataError(f"There are {len(vectors)} {title}; expected more than {k}, the neighbours that count.")
    true, made = _centred(real, samples)
    true_radii, made_radii = _radii(true, k), _radii(made, k)
    inside_real = torch.zeros(len(made), dtype=torch.int64)
    recalled, covered = 0, 0
    for rows in _blocks(len(true), len(made)):
        distances = _squares(true[rows], made)
        within = distances <= true_radii[rows, None]
        inside_real += within.sum(dim=0)
        covered += int(within.any(dim=1).sum())
        recalled += int((distances <= made_radii[None]).any(dim=1).sum())
    return Surroundings(
        precision=float((inside_real > 0).double().mean()),
        recall=recalled / len(true),
        density=float(inside_real.double().mean()) / k,
        coverage=covered / len(true),
    )


def _centred(real: NDArray[np.float32], samples: NDArray[np.float32]) -> tuple[Tensor, Tensor]:
    """In double precision and about one middle, so that squares of distances do not drown in rounding."""
    true, made = torch.from_numpy(real).double(), torch.from_numpy(samples).double()
    middle = true.mean(dim=0)
    return true - middle, made - middle


def _radii(vectors: Tensor, k: int) -> Tensor:
    """The squared distance of each vector to its k-th nearest other."""
    radii = torch.empty(len(vectors), dtype=torch.float64)
    for rows in _blocks(len(vectors), len(vectors)):
        distances = _squares(vectors[rows], vectors)
        distances[torch.arange(len(distances)), torch.arange(rows.start, rows.start + len(distances))] = torch.inf
        radii[rows] = distances.kthvalue(k, dim=1).values
    return radii


def _squares(first: Tensor, second: Tensor) -> Tensor:
    lengths = first.square().sum(dim=1)[:, None] + second.square().sum(dim=1)[None]
    return torch.addmm(lengths, first, second.T, alpha=-2).clamp_(min=0)


def _blocks(count: int, others: int) -> list[slice]:
    rows = max(1, _BLOCK_VALUES // max(others, 1))
    return [slice(start, min(start + rows, count)) for start in range(0, count, rows)]
