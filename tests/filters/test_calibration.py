"""Thresholds and separation on scores whose answer is known by hand, and against plain loops."""

from __future__ import annotations

import json
import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffgan.archive import LabelColumns, VerdictColumns
from diffgan.errors import DataError, UsageError
from diffgan.filters.calibration import calibrate, labelled_scores, outcome_at
from diffgan.filters.thresholds import Labelled, Levels, Target, threshold_for
from diffgan.labels import consensus
from diffgan.stats import Interval, vargha_delaney

NAN = math.nan
# Six valid, four invalid. From the least score on, of those that pass are valid: 6/10 6/9 6/8 5/7 5/6 4/5 3/4 3/3 ...
TEN = Labelled.checked(
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0],
    [False, False, True, False, True, True, False, True, True, True],
)
TARGETS = ["precision:0.75", "precision:0.9", "youden", "paper", "paper:0.5", "paper:0.8"]


def rng() -> np.random.Generator:
    return np.random.default_rng(7)


def above(score: float) -> float:
    return float(np.nextafter(score, np.inf))


def found(target: str, labelled: Labelled) -> float | str:
    threshold = threshold_for(Target.parse(target), labelled, rng=rng(), resamples=20)
    return threshold.estimate if isinstance(threshold, Interval) else threshold


@pytest.mark.parametrize(
    ("target", "threshold"),
    [
        ("precision:0.6", 0.1),
        ("precision:0.75", 0.3),
        ("precision:0.8", 0.5),
        ("precision", 0.8),
        ("precision:1", 0.8),
        ("youden", 0.5),  # 5/6 - 1/4; at 0.3, 6/6 - 2/4, and at 0.8, 3/6 - 0, are less
        ("paper", above(0.7)),
        ("paper:0.76", above(0.7)),
        ("paper:0.75", above(0.4)),
        ("paper:0.5", above(0.2)),
    ],
)
def test_golden_thresholds(target: str, threshold: float) -> None:
    assert found(target, TEN) == threshold


def test_golden_outcome() -> None:
    at = outcome_at(0.5, TEN)
    assert (at.labelled, at.valid, at.passed, at.valid_passed) == (10, 6, 6, 5)
    shares = [at.before, at.after, at.retention, at.dropped]
    assert [share.estimate for share in shares if share] == pytest.approx([0.6, 5 / 6, 5 / 6, 0.75])
    assert at.after is not None
    # Wilson's for 5 of 6, by hand: (5/6 + 3.8415/12 ± 1.96 · √(5/36/6 + 3.8415/144)) / (1 + 3.8415/6).
    assert (at.after.low, at.after.high) == pytest.approx((0.4365, 0.9699), abs=1e-4)


def test_golden_separation() -> None:
    # Of the 24 pairs, the valid one wins 2 + 3 + 3 + 4 + 4 + 4.
    result = calibrate(TEN, rng=rng())
    assert result.auc is not None
    assert result.auc.estimate == pytest.approx(20 / 24)
    assert result.auc.low < 20 / 24 < result.auc.high
    assert result.invalid.quantiles == pytest.approx((0.115, 0.175, 0.3, 0.475, 0.655))
    assert (result.valid.count, result.valid.least, result.valid.greatest) == (6, 0.3, 1.0)


def test_a_tie_of_youdens_index_goes_to_the_least_threshold() -> None:
    # At 2: 2/2 - 1/2. At 4: 1/2 - 0.
    assert found("youden", Labelled.checked([1, 2, 3, 4], [False, True, False, True])) == 2
    # One third either way, which floating point would tell apart.
    many = Labelled.checked([1, 2, 3, 4, 5, 6], [False, True, False, True, False, True])
    assert found("youden", many) == 2


def test_all_of_one_score() -> None:
    same = Labelled.checked([0.5, 0.5, 0.5], [True, False, True])
    result = calibrate(same, rng=rng(), targets=[Target.parse(t) for t in ("precision:0.6", "precision:0.7", "youden")])
    assert result.auc is not None
    assert result.auc.estimate == 0.5
    kept, none, youden = result.choices
    assert kept.threshold == Interval(0.5, kept.threshold.low, kept.threshold.high, 0.95) if kept.threshold else False
    assert none.threshold is None
    assert "0.6667" in none.reason
    assert youden.threshold is not None
    assert youden.threshold.estimate == 0.5
    assert found("paper", same) == above(0.5)
    assert outcome_at(above(0.5), same).passed == 0
    assert outcome_at(above(0.5), same).after is None


@pytest.mark.parametrize(
    ("labelled", "answers"),
    [
        (Labelled.checked([3, 1, 2], [True] * 3), [1.0, 1.0, "invalid", "invalid", "invalid", "invalid"]),
        (
            Labelled.checked([3, 1, 2], [False] * 3),
            ["is 0", "is 0", "valid", above(3), above(2), above(3)],
        ),
        (Labelled.checked([], []), ["nothing is labelled"] * 6),
        (Labelled.checked([NAN, NAN], [True, False]), ["no labelled trigger has a score"] * 6),
        (Labelled.checked([NAN, 1], [False, True]), ["is 0.5", "is 0.5", "invalid", "invalid", "invalid", "invalid"]),
        (Labelled.checked([5], [True]), [5.0, 5.0, "invalid", "invalid", "invalid", "invalid"]),
        (Labelled.checked([5], [False]), ["is 0", "is 0", "is valid", above(5), above(5), above(5)]),
    ],
)
def test_one_class_no_scores_and_tiny_samples(labelled: Labelled, answers: list[float | str]) -> None:
    for target, answer in zip(TARGETS, answers, strict=True):
        threshold = found(target, labelled)
        if isinstance(answer, str):
            assert isinstance(threshold, str)
            assert answer in threshold
        else:
            assert threshold == answer
    result = calibrate(labelled, rng=rng(), resamples=20)
    assert (result.auc is None) == (not answers or isinstance(answers[2], str))
    json.dumps(result.as_json(), allow_nan=False)
    assert "unknown" in str(result)


def test_what_has_no_score_passes_and_counts() -> None:
    # Beside one unscored invalid, 3 of 4 that pass at 2 are valid.
    some = Labelled.checked([NAN, 1, 2, 3, 4], [False, False, True, True, True])
    assert found("precision:0.75", some) == 2
    assert "0.75" in str(found("precision:0.8", some))
    assert found("paper", some) == above(1)
    at = outcome_at(5, some)
    assert (at.passed, at.valid_passed) == (1, 0)
    result = calibrate(some, rng=rng(), resamples=50)
    assert (result.invalid.count, result.invalid.unscored) == (2, 1)
    assert result.auc is not None
    assert result.auc.estimate == 1


def test_scores_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="1 scores are infinite"):
        Labelled.checked([1, math.inf], [True, False])
    with pytest.raises(DataError, match="expected one each"):
        Labelled.checked([1, 2], [True])


@pytest.mark.parametrize("text", ["f1", "precision:0", "precision:1.5", "precision:x", "youden:0.5", "paper:nan", ""])
def test_a_target_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="target"):
        Target.parse(text)


def test_targets_are_read_as_they_are_written() -> None:
    assert [str(Target.parse(text)) for text in ("precision:0.9", "youden", "paper")] == [
        "precision:0.9",
        "youden",
        "paper:1",
    ]


# Against plain loops

Pairs = list[tuple[float, bool]]
pairs = st.lists(st.tuples(st.integers(0, 5).map(float) | st.just(NAN), st.booleans()), min_size=1, max_size=14)


def passing(rows: Pairs, threshold: float) -> Pairs:
    return [row for row in rows if not row[0] < threshold]


def share(rows: Pairs, *, valid: bool, of: Pairs) -> float:
    whole = sum(row[1] == valid for row in of)
    return sum(row[1] == valid for row in rows) / whole if whole else 0.0


def plain_precision(rows: Pairs) -> float:
    scores = sorted({score for score, _ in rows if score == score})
    good = [s for s in scores if sum(v for _, v in passing(rows, s)) / len(passing(rows, s)) >= 0.75]
    return good[0] if good else math.inf


def plain_youden(rows: Pairs) -> float:
    scores = sorted({score for score, _ in rows if score == score})
    gains = [
        share(passing(rows, s), valid=True, of=rows) - share(passing(rows, s), valid=False, of=rows) for s in scores
    ]
    return next((s for s, gain in zip(scores, gains, strict=True) if gain >= max(gains) - 1e-12), math.inf)


def plain_paper(rows: Pairs) -> float:
    invalid = sorted(score for score, valid in rows if score == score and not valid)
    return next(above(s) for s in invalid if sum(other <= s for other in invalid) / len(invalid) >= 0.5)


@pytest.mark.parametrize(
    ("target", "plain"), [("precision:0.75", plain_precision), ("youden", plain_youden), ("paper:0.5", plain_paper)]
)
@given(rows=pairs)
def test_thresholds_agree_with_plain_loops(target: str, plain: Callable[[Pairs], float], rows: Pairs) -> None:
    threshold = found(target, Labelled.checked(*zip(*rows, strict=True)))
    if isinstance(threshold, str):
        scored = {valid for score, valid in rows if score == score}
        one_class = False not in scored or (target == "youden" and True not in scored)
        assert not scored or (plain(rows) == math.inf if target.startswith("precision") else one_class)
    else:
        assert threshold == plain(rows)


@given(pairs, st.integers(0, 2**32))
def test_a_resample_is_answered_as_a_sample(rows: Pairs, seed: int) -> None:
    labelled = Labelled.checked(*zip(*rows, strict=True))
    drawn = np.random.default_rng(seed).integers(0, len(rows), (5, len(rows)))
    levels = Levels.of(labelled)
    if not len(levels.scores):
        return
    for target, plain in (("precision:0.75", plain_precision), ("youden", plain_youden), ("paper:0.5", plain_paper)):
        answers = levels.thresholds(Target.parse(target), levels.codes[drawn])
        for answer, chosen in zip(answers.tolist(), drawn.tolist(), strict=True):
            resample = [rows[place] for place in chosen]
            scored = {valid for score, valid in resample if score == score}
            if scored == {True, False}:
                assert answer == min(plain(resample), above(levels.scores[-1]))


@given(pairs)
def test_the_area_is_vargha_and_delaneys(rows: Pairs) -> None:
    labelled = Labelled.checked(*zip(*rows, strict=True))
    valid, invalid = labelled.scores_of(valid=True), labelled.scores_of(valid=False)
    area = calibrate(labelled, rng=rng(), targets=[], resamples=5).auc
    if not len(valid) or not len(invalid):
        assert area is None
    else:
        assert area is not None
        assert area.estimate == pytest.approx(vargha_delaney(valid, invalid))


def test_intervals_narrow_with_labels_and_cover_the_truth() -> None:
    # Valid scores lie evenly on [0.5, 1], invalid ones on [0, 0.6]. Youden's index is 1 - 1/6 at 0.5, and 0.8 at 0.6.
    widths = []
    for count in (100, 10_000):
        draw = np.random.default_rng(3)
        scores = np.concatenate([draw.uniform(0.5, 1, count), draw.uniform(0, 0.6, count)])
        interval = threshold_for(
            Target.parse("youden"), Labelled.checked(scores, np.arange(2 * count) < count), rng=rng(), resamples=200
        )
        assert isinstance(interval, Interval)
        assert interval.low <= 0.51
        assert interval.low >= 0.45
        widths.append(interval.high - interval.low)
    assert widths[1] < widths[0]


def test_the_same_seed_gives_the_same_calibration() -> None:
    assert calibrate(TEN, rng=rng()) == calibrate(TEN, rng=rng())
    assert "precision:0.95: 0.8" in str(calibrate(TEN, rng=rng()))


def test_scores_and_labels_are_brought_together_by_id() -> None:
    verdicts = VerdictColumns(
        ids=np.array([5, 6, 7, 8]),
        passed=np.ones(4, dtype=np.bool_),
        scores=np.array([0.5, 0.6, NAN, 0.8]),
        reasons=("",) * 4,
    )
    labels = LabelColumns(
        ids=np.array([8, 7, 6, 6, 9]),
        annotators=("ann", "ann", "ann", "bo", "ann"),
        classes=(None, 3, 1, None, 2),
        times=np.zeros(5),
    )
    both = labelled_scores(verdicts, consensus(labels))
    assert both.valid.tolist() == [True, False]  # 6 is a conflict, 9 has no score, 5 no label
    assert np.isnan(both.scores[0])
    assert both.scores[1] == 0.8
