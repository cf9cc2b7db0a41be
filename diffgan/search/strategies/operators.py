"""How offspring come from parents: SBX, polynomial mutation, and a rate for the class gene.

The distributions are pymoo's (bounded by the search box, genes exchanged between the children half of the time), on
whole generations in float32: pymoo's own objects cost more an individual than a small model's answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points32 = NDArray[np.float32]

#: Genes of two parents nearer than this share of the box are left alone: nothing lies between them in float32.
_TOO_CLOSE = np.float32(1e-6)


def crossed(
    first: Points32,
    second: Points32,
    rng: np.random.Generator,
    *,
    bounds: tuple[float, float],
    rate: float,
    gene_rate: float,
    eta: float,
) -> tuple[Points32, Points32]:
    """Simulated binary crossover: two children a pair, spread about their parents' mean as the parents are.

    Args:
        first: (N, genes) in the search box.
        second: the other parents.
        rng: decides.
        bounds: of the search box.
        rate: the share of pairs that cross; the others give copies.
        gene_rate: the share of genes that cross in a pair that does.
        eta: the distribution index; the greater, the nearer to the parents.
    """
    pairs, genes = first.shape
    rows = np.flatnonzero(rng.random(pairs) < rate)
    crosses = rng.random((len(rows), genes), dtype=np.float32) < np.float32(gene_rate)
    crosses &= np.abs(first[rows] - second[rows]) > _TOO_CLOSE * np.float32(bounds[1] - bounds[0])
    children = first.copy(), second.copy()
    pair, gene = np.nonzero(crosses)
    places = rows[pair] * genes + gene
    one, other = first.ravel()[places], second.ravel()[places]
    low, high = _spread(np.minimum(one, other), np.maximum(one, other), rng, bounds=bounds, eta=eta)
    swapped = rng.random(len(places), dtype=np.float32) < np.float32(0.5)
    children[0].reshape(-1)[places] = np.where(swapped, high, low)
    children[1].reshape(-1)[places] = np.where(swapped, low, high)
    return children


def _spread(
    lower: Points32, upper: Points32, rng: np.random.Generator, *, bounds: tuple[float, float], eta: float
) -> tuple[Points32, Points32]:
    """Children of single genes: ((1 + b) v1 + (1 - b) v2) / 2 and its mirror, b drawn so that none leaves the box."""
    low, high = np.float32(bounds[0]), np.float32(bounds[1])
    drawn = rng.random(len(lower), dtype=np.float32)
    gap, total = upper - lower, lower + upper
    down = _beta(1 + 2 * (lower - low) / gap, drawn, eta)
    up = _beta(1 + 2 * (high - upper) / gap, drawn, eta)
    half = np.float32(0.5)
    return np.clip(half * (total - down * gap), low, high), np.clip(half * (total + up * gap), low, high)


def _beta(room: Points32, drawn: Points32, eta: float) -> Points32:
    """The spread factor: its distribution, cut off where the child would leave the box (`room` parental gaps away)."""
    power = np.float32(eta + 1)
    scaled = drawn * (2 - room**-power)
    with np.errstate(divide="ignore"):  # the branch not taken may divide by zero
        spread: Points32 = np.where(scaled <= 1, scaled, 1 / (2 - scaled)) ** (1 / power)
    return spread


def mutated(
    points: Points32,
    rng: np.random.Generator,
    *,
    bounds: tuple[float, float],
    gene_rate: float,
    eta: float,
) -> Points32:
    """Polynomial mutation: each gene with probability `gene_rate`, by a step that stays in the box.

    Args:
        points: (N, genes) in the search box.
        rng: decides.
        bounds: of the search box.
        gene_rate: the share of genes that mutate.
        eta: the distribution index; the greater, the smaller the steps.
    """
    places = np.flatnonzero(rng.random(points.shape, dtype=np.float32) < np.float32(gene_rate))
    drawn = rng.random(len(places), dtype=np.float32)
    low, high = np.float32(bounds[0]), np.float32(bounds[1])
    genes = points.ravel()[places]
    power, root = np.float32(eta + 1), np.float32(1 / (eta + 1))
    downwards = drawn <= np.float32(0.5)
    half = np.where(downwards, 2 * drawn, 2 * (1 - drawn))
    room = np.where(downwards, high - genes, genes - low) / (high - low)
    step = (half + (1 - half) * room**power) ** root - 1
    children = points.copy()
    children.reshape(-1)[places] = np.clip(genes + np.where(downwards, step, -step) * (high - low), low, high)
    return children


def mutated_classes(
    classes: NDArray[np.int64], rng: np.random.Generator, *, count: int, rate: float
) -> NDArray[np.int64]:
    """Each class with probability `rate` drawn anew, uniformly from 0 to `count` - 1."""
    drawn = rng.integers(0, count, len(classes))
    mixed: NDArray[np.int64] = np.where(rng.random(len(classes)) < rate, drawn, classes)
    return mixed
