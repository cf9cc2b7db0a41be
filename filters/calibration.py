"""What labels say of a filter: how well its scores tell valid triggers apart, and where thresholds would lie."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffgan.archive import VerdictColumns
from diffgan.filters.thresholds import DEFAULT_TARGETS, Labelled, Levels, Target, threshold_for
from diffgan.filters.validity import shown
from diffgan.labels import Consensus
from diffgan.stats import Interval, bootstrap_interval, quantile, wilson_interval

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_AUC_RESAMPLES = 500


@dataclass(frozen=True)
class Distribution:
    """How scores are spread.

    Attributes:
        count: how many triggers there are.
        unscored: how many of them have no score; the rest of this is of the others, and None where there is none.
        least, greatest: of the scores.
        quantiles: the scores below which 5, 25, 50, 75 and 95 % lie.
    """

    count: int
    unscored: int
    least: float | None = None
    greatest: float | None = None
    quantiles: tuple[float, ...] | None = None

    @classmethod
    def of(cls, labelled: Labelled, *, valid: bool) -> Distribution:
        """That of the valid, or of the invalid ones."""
        scores = labelled.scores_of(valid=valid)
        count = int((labelled.valid == valid).sum())
        if not len(scores):
            return cls(count, count)
        spread = tuple(quantile(scores, share) for share in SHARES)
        return cls(count, count - len(scores), float(scores.min()), float(scores.max()), spread)

    def __str__(self) -> str:
        unscored = f", {self.unscored:,} without a score" if self.unscored else ""
        if self.quantiles is None:
            return f"{self.count:,}{unscored}"
        values = (self.least, *self.quantiles, self.greatest)
        return f"{self.count:,}{unscored}: {', '.join(f'{value:.4g}' for value in values)}"


@dataclass(frozen=True)
class Outcome:
    """What a threshold would do, by the labels.

    Attributes:
        threshold: a score of at least this passes, and so does a trigger without a score.
        labelled, valid: how many triggers are labelled, and how many of them are valid.
        passed, valid_passed: how many of them pass.
        before: the share of valid ones among all; None: nothing is labelled.
        after: the share of valid ones among those that pass; None: none does.
        retention: the share of the valid ones that pass; None: none is valid.
        dropped: the share of the invalid ones that do not pass; None: none is invalid.
    """

    threshold: float
    labelled: int
    valid: int
    passed: int
    valid_passed: int
    before: Interval | None
    after: Interval | None
    retention: Interval | None
    dropped: Interval | None

    def __str__(self) -> str:
        return (
            f"valid {shown(self.before)} before, {shown(self.after)} after; keeps {shown(self.retention)} of the "
            f"valid, drops {shown(self.dropped)} of the invalid"
        )


@dataclass(frozen=True)
class Choice:
    """The threshold for one target.

    Attributes:
        target: such as `precision:0.95`.
        threshold: with its bootstrap interval; None: there is none.
        outcome: at that threshold, by the labels that it was chosen on, and so a little flattered; None with it.
        reason: why there is none; empty where there is one.
    """

    target: str
    threshold: Interval | None
    outcome: Outcome | None
    reason: str

    def __str__(self) -> str:
        if self.threshold is None or self.outcome is None:
            return f"{self.target}: none, {self.reason}"
        at = self.threshold
        above = "just above " if self.target.startswith("paper") else ""  # rounded, it would let that one pass
        return (
            f"{self.target}: {above}{at.estimate:.4g} ({at.level:.0%}: {at.low:.4g} to {at.high:.4g}); {self.outcome}"
        )


@dataclass(frozen=True)
class Calibration:
    """A filter's scores against labels.

    Attributes:
        valid, invalid: how their scores are spread.
        auc: the chance that a valid trigger scores above an invalid one, ties counted half; 0.5 tells nothing apart.
            None where either has no scores.
        choices: the threshold for each target.
    """

    valid: Distribution
    invalid: Distribution
    auc: Interval | None
    choices: tuple[Choice, ...]

    def __str__(self) -> str:
        lines = [
            "scores: least, 5, 25, 50, 75, 95 %, greatest",
            f"valid {self.valid}",
            f"invalid {self.invalid}",
            "area under the curve: "
            + (
                "unknown"
                if self.auc is None
                else f"{self.auc.estimate:.3f} ({self.auc.low:.3f} to {self.auc.high:.3f})"
            ),
        ]
        return "\n".join([*lines, *map(str, self.choices)])

    def as_json(self) -> dict[str, Any]:
        """As files hold it; what there is none of is null."""
        return asdict(self)


def labelled_scores(verdicts: VerdictColumns, said: Consensus, *, without: NDArray[np.int64] | None = None) -> Labelled:
    """The scores of those triggers on which a filter has spoken and of which it is settled whether they are valid.

    Args:
        verdicts: the filter's.
        said: what the labels say.
        without: ids of triggers that do not count.
    """
    ids, valid = said.validity()
    left = np.ones(len(ids), dtype=np.bool_) if without is None else ~np.isin(ids, without)
    known = dict(zip(ids[left].tolist(), valid[left].tolist(), strict=True))
    rows = [row for row, number in enumerate(verdicts.ids.tolist()) if number in known]
    return Labelled.checked(verdicts.scores[rows], [known[number] for number in verdicts.ids[rows].tolist()])


def calibrate(
    labelled: Labelled,
    *,
    rng: np.random.Generator,
    targets: Sequence[Target] = DEFAULT_TARGETS,
    level: float = 0.95,
    resamples: int | None = None,
) -> Calibration:
    """Spread, separation and thresholds; whatever the labels do not tell is None, with its reason.

    Args:
        labelled: scores and validity, any number of them, of one class or both.
        rng: draws the resamples of the bootstrap.
        targets: what thresholds shall reach.
        level: of all intervals.
        resamples: of each bootstrap; 2,000 by default, fewer for many labels.

    Example:
        >>> some = Labelled.checked([0.1, 0.2, 0.6, 0.9], [False, False, True, True])
        >>> found = calibrate(some, rng=np.random.default_rng(0), targets=[Target("youden")])
        >>> found.auc.estimate, found.choices[0].threshold.estimate
        (1.0, 0.6)
    """
    return Calibration(
        valid=Distribution.of(labelled, valid=True),
        invalid=Distribution.of(labelled, valid=False),
        auc=_auc(labelled, rng, level, resamples),
        choices=tuple(_choice(target, labelled, rng, level, resamples) for target in targets),
    )


def outcome_at(threshold: float, labelled: Labelled, *, level: float = 0.95) -> Outcome:
    """What a threshold would do, by the labels; its intervals are Wilson's."""
    passes, valid = ~(labelled.scores < threshold), labelled.valid  # NaN passes
    kept, kept_valid = int(passes.sum()), int((passes & valid).sum())
    count, count_valid = len(labelled), int(valid.sum())
    invalid, kept_invalid = count - count_valid, kept - kept_valid

    def share(part: int, whole: int) -> Interval | None:
        return wilson_interval(part, whole, level=level) if whole else None

    return Outcome(
        threshold=float(threshold),
        labelled=count,
        valid=count_valid,
        passed=kept,
        valid_passed=kept_valid,
        before=share(count_valid, count),
        after=share(kept_valid, kept),
        retention=share(kept_valid, count_valid),
        dropped=share(invalid - kept_invalid, invalid),
    )


def _choice(
    target: Target, labelled: Labelled, rng: np.random.Generator, level: float, resamples: int | None
) -> Choice:
    found = threshold_for(target, labelled, rng=rng, level=level, resamples=resamples)
    if isinstance(found, str):
        return Choice(str(target), None, None, found)
    return Choice(str(target), found, outcome_at(found.estimate, labelled, level=level), "")


def _auc(labelled: Labelled, rng: np.random.Generator, level: float, resamples: int | None) -> Interval | None:
    if not len(labelled.scores_of(valid=True)) or not len(labelled.scores_of(valid=False)):
        return None
    scored = Labelled(labelled.scores[labelled.is_scored], labelled.valid[labelled.is_scored])
    levels = Levels.of(scored)
    return bootstrap_interval(
        levels.codes, partial(_areas, levels), rng=rng, level=level, resamples=resamples or _AUC_RESAMPLES
    )


def _areas(levels: Levels, codes: ArrayLike) -> NDArray[np.float64]:
    """The area for each resample; 0.5 where a resample lacks the valid or the invalid ones."""
    passing = levels.passing(np.asarray(codes))
    here = passing[:, :-1] - passing[:, 1:]
    beneath = passing[:, :1, 0] - passing[:, :-1, 0]
    twice_won = (here[:, :, 1] * (2 * beneath + here[:, :, 0])).sum(axis=1)
    pairs = passing[:, 0, 0] * passing[:, 0, 1]
    return np.where(pairs > 0, twice_won / np.maximum(1, 2 * pairs), 0.5)
