"""Which threshold of a filter meets a target on labelled triggers. A score of at least the threshold passes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgan.errors import DataError, UsageError
from diffgan.stats import Interval, bootstrap_interval

Integers = NDArray[np.int64]
#: From how many labelled triggers pass at each candidate (R, L + 1, 2: invalid, valid), the candidate chosen (R,).
Rule = Callable[[Integers], Integers]

RESAMPLES = 2_000
_FEWEST_RESAMPLES, _MOST_DRAWS, _BLOCK = 200, 40_000_000, 1_000_000
_DEFAULTS: dict[str, float | None] = {"precision": 0.95, "youden": None, "paper": 1.0}


@dataclass(frozen=True)
class Target:
    """What a threshold shall reach on the labelled triggers; L candidates are their scores, from the least on.

    - `precision`: the least candidate at which at least the share `value` of those that pass are valid.
    - `youden`: the candidate with the greatest difference between the shares of valid and of invalid ones that pass;
      the least of several.
    - `paper`: the least number at which at least the share `value` of the invalid ones with a score do not pass. At
      1, this is the number just above the greatest score of an invalid one, so that all invalid ones lie below.

    Attributes:
        rule: one of the three.
        value: the share; None for `youden`.
    """

    rule: str
    value: float | None = None

    @classmethod
    def parse(cls, text: str) -> Target:
        """A target from `RULE` or `RULE:SHARE`; without a share, precision is 0.95 and the paper's rule 1.

        Raises:
            UsageError: there is no such rule, or the share does not fit.

        Example:
            >>> Target.parse("precision:0.9"), Target.parse("youden")
            (Target(rule='precision', value=0.9), Target(rule='youden', value=None))
        """
        rule, colon, share = text.partition(":")
        if rule not in _DEFAULTS or (colon and _DEFAULTS[rule] is None):
            raise UsageError(f"The target {text!r} is none; expected precision:SHARE, youden, or paper[:SHARE].")
        try:
            value = float(share) if colon else _DEFAULTS[rule]
        except ValueError:
            value = -1.0
        if value is not None and not 0 < value <= 1:
            raise UsageError(f"The target {text!r} needs a share above 0 and up to 1, such as {rule}:0.9.")
        return cls(rule, value)

    def __str__(self) -> str:
        return self.rule if self.value is None else f"{self.rule}:{self.value:g}"


DEFAULT_TARGETS = tuple(Target.parse(text) for text in ("precision:0.95", "youden", "paper", "paper:0.95"))


@dataclass(frozen=True)
class Labelled:
    """Scores of labelled triggers, and whether these are valid; build it with `Labelled.checked`.

    Attributes:
        scores: NaN where the filter gave none; such a trigger passes at every threshold.
        valid: what the labels say.
    """

    scores: NDArray[np.float64]
    valid: NDArray[np.bool_]

    @classmethod
    def checked(cls, scores: ArrayLike, valid: ArrayLike) -> Labelled:
        """Scores (n,) and validity (n,), n may be 0.

        Raises:
            DataError: they differ in length, or a score is infinite.
        """
        numbers, said = np.asarray(scores, dtype=np.float64), np.asarray(valid)
        if numbers.ndim != 1 or numbers.shape != said.shape:
            raise DataError(
                f"Scores of shape {numbers.shape} came with labels of shape {said.shape}; expected one each."
            )
        if np.isinf(numbers).any():
            raise DataError(
                f"{np.isinf(numbers).sum()} scores are infinite; expected finite ones, or NaN where there is none."
            )
        return cls(numbers, said.astype(np.bool_))

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def is_scored(self) -> NDArray[np.bool_]:
        """Where there is a score."""
        return ~np.isnan(self.scores)

    def scores_of(self, *, valid: bool) -> NDArray[np.float64]:
        """The scores of the valid, or of the invalid ones, without NaN."""
        return np.asarray(self.scores[self.is_scored & (self.valid == valid)])


@dataclass(frozen=True, eq=False)
class Levels:
    """Labelled triggers, grouped by score.

    Attributes:
        scores: the L different scores, ascending: the candidates for a threshold.
        codes: of each trigger: twice its group, and 1 more if it is valid; group L holds those without a score.
    """

    scores: NDArray[np.float64]
    codes: Integers

    @classmethod
    def of(cls, labelled: Labelled) -> Levels:
        """The groups of these triggers."""
        scores = np.unique(labelled.scores[labelled.is_scored])
        groups = np.where(labelled.is_scored, np.searchsorted(scores, labelled.scores), len(scores))
        return cls(scores, 2 * groups.astype(np.int64) + labelled.valid)

    def passing(self, codes: NDArray[np.floating] | Integers) -> Integers:
        """Of resamples (R, n), how many invalid and valid ones pass at each candidate: (R, L + 1, 2)."""
        width = 2 * (len(self.scores) + 1)
        flat = codes.astype(np.int64) + width * np.arange(len(codes))[:, None]
        counts = np.bincount(flat.ravel(), minlength=width * len(codes)).reshape(len(codes), -1, 2)
        return np.asarray(counts[:, ::-1].cumsum(axis=1)[:, ::-1])

    def thresholds(self, target: Target, codes: NDArray[np.floating] | Integers) -> NDArray[np.float64]:
        """The threshold for each resample; where none reaches the target, one that drops whatever has a score."""
        rows = max(1, _BLOCK // codes.shape[1])
        starts = range(0, len(codes), rows)
        rule = _rule(target)
        chosen = np.concatenate([rule(self.passing(codes[start : start + rows])) for start in starts])
        just_above = np.nextafter(self.scores, np.inf)
        is_paper = target.rule == "paper"
        values = [self.scores[:1], just_above] if is_paper else [self.scores, just_above[-1:]]
        return np.asarray(np.concatenate(values)[chosen])


def threshold_for(
    target: Target,
    labelled: Labelled,
    *,
    rng: np.random.Generator,
    level: float = 0.95,
    resamples: int | None = None,
) -> Interval | str:
    """The threshold that meets a target, with its bootstrap interval; or in words why there is none.

    A resample in which no threshold reaches the precision counts as one that drops whatever has a score.

    Args:
        target: what to reach.
        labelled: scores and validity.
        rng: draws the resamples.
        level: of the interval.
        resamples: 2,000 by default, fewer for more than 20,000 labels.
    """
    missing = _missing(target, labelled)
    if missing:
        return missing
    levels = Levels.of(labelled)
    if target.rule == "precision" and levels.thresholds(target, levels.codes[None])[0] > levels.scores[-1]:
        best = _precision(levels.passing(levels.codes[None]))[0, :-1].max()
        return f"no threshold reaches it: the greatest share of valid ones among those that pass is {best:.4g}"
    draws = resamples or max(_FEWEST_RESAMPLES, min(RESAMPLES, _MOST_DRAWS // len(labelled)))
    statistic = partial(levels.thresholds, target)
    return bootstrap_interval(levels.codes, statistic, rng=rng, level=level, resamples=draws)


def _missing(target: Target, labelled: Labelled) -> str:
    if len(labelled) == 0:
        return "nothing is labelled"
    if not labelled.is_scored.any():
        return "no labelled trigger has a score"
    if target.rule != "precision" and not len(labelled.scores_of(valid=False)):
        return "no labelled trigger with a score is invalid"
    if target.rule == "youden" and not len(labelled.scores_of(valid=True)):
        return "no labelled trigger with a score is valid"
    return ""


def _rule(target: Target) -> Rule:
    if target.rule == "youden":
        return _by_youden
    share = 1.0 if target.value is None else target.value
    return partial(_by_precision if target.rule == "precision" else _by_invalid, share)


def _precision(passing: Integers) -> NDArray[np.float64]:
    """The share of valid ones among those that pass; 0 where none does."""
    return np.asarray(passing[:, :, 1] / np.maximum(1, passing.sum(axis=2)))


def _by_precision(share: float, passing: Integers) -> Integers:
    reached = (_precision(passing) >= share) & _is_there(passing)
    reached[:, -1] = True  # stands for: none of the candidates
    return np.asarray(reached.argmax(axis=1))


def _by_youden(passing: Integers) -> Integers:
    """In whole numbers, so that ties are ties; a class that a resample lacks counts as one that never passes."""
    totals = np.maximum(1, passing[:, :1])
    gain = passing[:, :, 1] * totals[:, :, 0] - passing[:, :, 0] * totals[:, :, 1]
    return np.asarray(np.where(_is_there(passing), gain, np.iinfo(np.int64).min).argmax(axis=1))


def _by_invalid(share: float, passing: Integers) -> Integers:
    dropped = passing[:, :1, 0] - passing[:, :, 0]
    scored = dropped[:, -1:]
    enough = (dropped / np.maximum(1, scored) >= share) | (scored == 0)
    return np.asarray(enough.argmax(axis=1))


def _is_there(passing: Integers) -> NDArray[np.bool_]:
    """Which candidates a resample holds; the last place stands for none of them, where it holds none."""
    total = passing.sum(axis=2)
    there = total[:, :-1] > total[:, 1:]
    return np.concatenate([there, ~there.any(axis=1, keepdims=True)], axis=1)
