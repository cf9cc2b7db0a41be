"""Tests of a selector on triggers: by cross-validation, and on those of other runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from diffgan.errors import UsageError
from diffgan.selection.card import CrossValidation, HeldOut
from diffgan.selection.examples import Examples, check_spec
from diffgan.selection.forest import grow, probability_of_b
from diffgan.selection.nearness import Views, far_from, near_groups
from diffgan.selection.pairs import PairFacts, pair_of_runs
from diffgan.selection.scores import Choices, ChoiceScores, score_choices
from diffgan.selection.selector import Chooser

Mask = NDArray[np.bool_]

#: Among triggers, neither model is known beforehand to be right more often.
EVEN = 0.5


def cross_validate(
    examples: Examples, features: NDArray[np.float32], views: Views, *, parts: int, seed: int
) -> CrossValidation:
    """A forest for each part, grown on the others; near copies are all in one part.

    Args:
        examples: N.
        features: of them, N x F.
        views: of them, for finding near copies.
        parts: how many.
        seed: of the parts and the forests.
    """
    groups = near_groups(views)
    sizes = np.bincount(groups)
    held = _parts(groups, examples.b_is_right, parts, seed)
    scores = None
    if held is not None:
        probability = np.empty(len(examples))
        for part in range(parts):
            inside = held == part
            forest = grow(features[~inside], examples.b_is_right[~inside], seed=seed)
            probability[inside] = probability_of_b(forest, features[inside])
        scores = _scores(examples, probability > EVEN, majority_is_b=bool(examples.b_is_right.mean() > 0.5))
    return CrossValidation(parts=parts, groups=len(sizes), largest=int(sizes.max()), scores=scores)


def hold_out(chooser: Chooser, runs: Sequence[Path], examples: Examples) -> HeldOut:
    """A test on those examples of other runs that are far from all that the training saw.

    Args:
        chooser: the selector, as far as it asks no model.
        runs: of the same pair, and none of the training's: see `check_other_runs`.
        examples: theirs.

    Raises:
        DataError: the images are of another size.
    """
    check_spec(chooser.spec, examples.spec, str(runs[0]))
    far = far_triggers(chooser, examples)
    used = examples.part(np.flatnonzero(far))
    scores = in_use = None
    if len(used):
        probability = chooser.probability_of_b(used.images)
        counts = chooser.card.counts
        majority_is_b = counts.only_b > counts.only_a
        scores = _scores(used, probability > EVEN, majority_is_b=majority_is_b)
        in_use = _scores(used, chooser.chooses_b(probability), majority_is_b=majority_is_b)
    return HeldOut(
        runs=tuple(str(run) for run in runs),
        counts=examples.counts,
        examples=len(examples),
        far=len(used),
        scores=scores,
        in_use=in_use,
    )


def far_triggers(chooser: Chooser, examples: Examples) -> Mask:
    """Those that are farther than the limits from every trigger that the training saw, on pixels and on features."""
    limits, learned = chooser.card.limits, chooser.learned
    return far_from(Views.of(examples.images, learned, limits), Views.of(chooser.seen, learned, limits))


def check_other_runs(pair: PairFacts, trained_on: Sequence[str], runs: Sequence[Path]) -> None:
    """Refuses a test on other models, or on what was learned from.

    Raises:
        UsageError: it is one.
    """
    theirs = pair_of_runs(runs)
    if theirs.fingerprints != pair.fingerprints:
        raise UsageError(
            f"{runs[0]} compared {' and '.join(theirs.names)}, which are not the pair of this selector "
            f"({' and '.join(pair.names)}, by their fingerprints and places): give a run of that pair."
        )
    known = {Path(run).resolve() for run in trained_on}
    for run in runs:
        if run.resolve() in known:
            raise UsageError(f"{run} is a run of the training: test on the run of another seed.")


def _parts(groups: NDArray[np.int64], b_is_right: Mask, parts: int, seed: int) -> NDArray[np.int64] | None:
    """The part of each example; None where groups are too few for every training to have both kinds."""
    from sklearn.model_selection import StratifiedGroupKFold

    if len(np.unique(groups)) < parts or min(b_is_right.sum(), (~b_is_right).sum()) < parts:
        return None
    held = np.empty(len(groups), dtype=np.int64)
    splits = StratifiedGroupKFold(parts, shuffle=True, random_state=seed % 2**32).split(groups, b_is_right, groups)
    for part, (train, test) in enumerate(splits):
        if len(np.unique(b_is_right[train])) < 2:
            return None
        held[test] = part
    return held


def _scores(examples: Examples, chose_b: Mask, *, majority_is_b: bool) -> ChoiceScores:
    choices = Choices(chose_b, examples.b_is_right, examples.mean_is_right)
    return score_choices(choices, majority_is_b=majority_is_b)


def tested(chooser: Chooser, held_out: HeldOut | None, cross_validation: CrossValidation | None) -> Chooser:
    """The same selector, whose card holds these tests."""
    update = {"held_out": held_out, "cross_validation": cross_validation}
    return replace(chooser, card=chooser.card.model_copy(update=update))
