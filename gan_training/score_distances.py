"""FID and KID by torchmetrics, from features that are there already."""

from __future__ import annotations

import math
import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from diffgan.errors import DataError

#: KID is the mean over so many subsets, of so many features at most.
SUBSETS, SUBSET_SIZE = 100, 1000

Features = NDArray[np.float32]


class _AsItIs(nn.Module):
    """Hands features on where torchmetrics asks for a network that makes them."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.num_features = size

    def forward(self, features: Tensor) -> Tensor:
        return features


def frechet_distance(real: Features, samples: Features) -> float:
    """FID: the Fréchet distance between two normal distributions with the means and covariances of the features.

    Raises:
        DataError: there are fewer than two of either, or no finite distance comes out.
    """
    from torchmetrics.image.fid import FrechetInceptionDistance

    _check(real, samples)
    metric = FrechetInceptionDistance(feature=_AsItIs(real.shape[1]))
    # In double precision: torchmetrics rounds its result to what it was given.
    metric.update(torch.from_numpy(real).double(), real=True)
    metric.update(torch.from_numpy(samples).double(), real=False)
    return _finite("FID", float(metric.compute()))


def kernel_distance(real: Features, samples: Features, *, seed: int, subsets: int = SUBSETS) -> float:
    """KID: the squared maximum mean discrepancy under a cubic kernel, averaged over random subsets.

    Args:
        real: features of real images.
        samples: features of samples.
        seed: of the subsets; torchmetrics only knows torch's global random state, which is put back.
        subsets: how many; each of 1,000 features, or all where there are fewer.

    Raises:
        DataError: there are fewer than two of either, or no finite distance comes out.
    """
    from torchmetrics.image.kid import KernelInceptionDistance

    _check(real, samples)
    size = min(SUBSET_SIZE, len(real), len(samples))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it keeps all features is known
        metric = KernelInceptionDistance(feature=_AsItIs(real.shape[1]), subsets=subsets, subset_size=size)
    metric.update(torch.from_numpy(real), real=True)
    metric.update(torch.from_numpy(samples), real=False)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return _finite("KID", float(metric.compute()[0]))


def _check(real: Features, samples: Features) -> None:
    for title, vectors in (("real images", real), ("samples", samples)):
        if len(vectors) < 2:
            raise DataError(f"There are {len(vectors)} {title} to compare; expected at least 2: give more.")


def _finite(title: str, value: float) -> float:
    if not math.isfinite(value):
        raise DataError(f"{title} came out as {value}: the features are not finite; see the extractor's weights.")
    return value
