"""How well a choice between two models is made, beside what it takes no selector to reach. Pure functions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from diffgan.stats import Interval, bootstrap_interval, mcnemar

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]

_RESAMPLES = 2_000


class Figure(BaseModel):
    """A share with its 95 % interval."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, interval: Interval) -> Figure:
        """As files hold it."""
        return cls(value=interval.estimate, low=interval.low, high=interval.high)


class Rival(BaseModel):
    """What the selector is held against.

    Attributes:
        accuracy: the share of the same images on which its label is right.
        only_selector: images on which the selector's choice is right and this is not.
        only_rival: the other way round.
        p: of McNemar's test, two-sided; None where the rival is chance or cannot be beaten.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    accuracy: float
    only_selector: int | None = None
    only_rival: int | None = None
    p: float | None = None


class ChoiceScores(BaseModel):
    """How often the right model was chosen, of images on which exactly one is right.

    Attributes:
        images: how many there are.
        share_b: the share on which it is B.
        accuracy: the share on which the choice is right.
        balanced: the mean of the two shares below.
        right_of_a: of the images on which A is right, the share on which A is chosen; None where there is none.
        right_of_b: the same for B.
        rivals: by name: always A, always B, the class that most training examples have, a random choice, the oracle's
            choice, and the mean of both models' probabilities (which asks both).
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    images: int
    share_b: float
    accuracy: Figure
    balanced: Figure
    right_of_a: float | None
    right_of_b: float | None
    rivals: dict[str, Rival]


@dataclass(frozen=True, eq=False)
class Choices:
    """N images on which exactly one model is right, and what was chosen.

    Attributes:
        chose_b: the choice.
        b_is_right: the right one.
        mean_is_right: whether the label of the mean of both models' probabilities is right.
    """

    chose_b: Mask
    b_is_right: Mask
    mean_is_right: Mask

    @property
    def right(self) -> Mask:
        """Where the choice is right."""
        right: Mask = self.chose_b == self.b_is_right
        return right


def balanced_accuracy(pairs: Floats) -> Floats:
    """Of resamples (R, n, 2) of (whether right, whether the right one is B): the mean of both classes' shares.

    A class that a resample lacks does not count.

    Example:
        >>> import numpy as np
        >>> balanced_accuracy(np.array([[[1, 0], [1, 1], [0, 1]], [[1, 0], [1, 0], [0, 0]]])).round(3).tolist()
        [0.75, 0.667]
    """
    right, is_b = pairs[..., 0], pairs[..., 1]
    hits = np.stack([(right * (1 - is_b)).sum(axis=1), (right * is_b).sum(axis=1)])
    sizes = np.stack([(1 - is_b).sum(axis=1), is_b.sum(axis=1)])
    shares = np.divide(hits, sizes, out=np.zeros(hits.shape), where=sizes > 0)
    mean: Floats = shares.sum(axis=0) / (sizes > 0).sum(axis=0)
    return mean


def score_choices(choices: Choices, *, majority_is_b: bool, seed: int = 0) -> ChoiceScores:
    """The figures of some choices.

    Args:
        choices: at least one.
        majority_is_b: whether most training examples have B right.
        seed: of the bootstrap.
    """
    right, is_b = choices.right, choices.b_is_right
    pairs = np.stack([right, is_b], axis=1).astype(np.float64)
    rng = np.random.default_rng((seed, 3))
    accuracy = bootstrap_interval(right.astype(np.float64), _mean, rng=rng, resamples=_RESAMPLES)
    balanced = bootstrap_interval(pairs, balanced_accuracy, rng=rng, resamples=_RESAMPLES)
    return ChoiceScores(
        images=len(right),
        share_b=float(is_b.mean()),
        accuracy=Figure.of(accuracy),
        balanced=Figure.of(balanced),
        right_of_a=_share(right[~is_b]),
        right_of_b=_share(right[is_b]),
        rivals={
            "always A": against(right, ~is_b),
            "always B": against(right, is_b),
            "majority class": against(right, is_b if majority_is_b else ~is_b),
            "random choice": Rival(accuracy=0.5),
            "oracle choice": Rival(accuracy=1.0),
            "mean of both": against(right, choices.mean_is_right),
        },
    )


def against(right: Mask, rival: Mask) -> Rival:
    """The rival's accuracy, and McNemar's test on the images on which just one of the two is right.

    Example:
        >>> import numpy as np
        >>> against(np.array([True, True, False]), np.array([False, True, True]))
        Rival(accuracy=0.6666666666666666, only_selector=1, only_rival=1, p=1.0)
    """
    ours, theirs = int((right & ~rival).sum()), int((rival & ~right).sum())
    return Rival(
        accuracy=float(rival.mean()), only_selector=ours, only_rival=theirs, p=min(1.0, mcnemar(ours, theirs).p)
    )


def _mean(resamples: Floats) -> Floats:
    return np.asarray(resamples.mean(axis=1))


def _share(right: Mask) -> float | None:
    return float(right.mean()) if len(right) else None
