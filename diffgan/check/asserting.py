"""`assert_no_regression`: the gate as one line of a test."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from diffgan.check.gate import DEFAULT_SECONDS, Checked, GateWishes, check
from diffgan.datasets import Dataset
from diffgan.durations import parse_duration
from diffgan.models.loading import Source
from diffgan.search.budgets import Budget
from diffgan.wanted import Wanted, budget_of

Paths = Sequence[str | os.PathLike[str]]


def limits_of(budget: str | float | None, evaluations: int | None) -> Budget:
    """When the search of a check ends; after two minutes, where no limit is given.

    Raises:
        UsageError: a limit is not above 0.
    """
    seconds = parse_duration(budget, "--budget") if isinstance(budget, str) else budget
    if seconds is None and evaluations is None:
        seconds = DEFAULT_SECONDS
    return budget_of(seconds=seconds, evaluations=evaluations)


def assert_no_regression(
    old: Source,
    new: Source,
    data: str | os.PathLike[str] | Dataset,
    *,
    evaluations: int | None = 20_000,
    seed: int = 0,
    suites: Paths = (),
    judges: Sequence[Source] = (),
    allow: str | os.PathLike[str] | None = None,
    max_rate: float | None = None,
    max_regressions: int | None = None,
    out: Path | None = None,
    **wanted: Any,
) -> Checked:
    """Fails where `diffgan check` would.

    Args:
        old: the model in use.
        new: the one that is to replace it.
        data: labelled, for both.
        evaluations: images that the search shows to both.
        seed: with equal inputs, the same seed gives the same verdict.
        suites: folders of runs or saved suites, replayed first.
        judges: models that label what the search finds.
        allow: a file of ids that may regress.
        max_rate: the share of the data that may regress.
        max_regressions: how many of the finds may be judged regressions.
        out: where to keep the run; by default it is not kept.
        **wanted: other fields of `Wanted`: generator, strategy, config, filters, ...

    Raises:
        AssertionError: the new model regresses; the message says where.
        DiffganError: something does not fit.
    """
    with tempfile.TemporaryDirectory() as folder:
        made = check(
            old,
            new,
            GateWishes(
                wanted=Wanted(
                    data=data,
                    budget=limits_of(None, evaluations),
                    seed=seed,
                    out=out or Path(folder) / "check",
                    **wanted,
                ),
                suites=tuple(map(Path, suites)),
                judges=tuple(judges),
                allow=None if allow is None else Path(allow),
                max_rate=max_rate,
                max_regressions=max_regressions,
            ),
        )
    if made.result is not None and not made.passed:
        raise AssertionError(_message(made))
    return made


def _message(made: Checked) -> str:
    assert made.result is not None
    lines = [made.result.verdict, *(f"{part.name}: {part.text}" for part in made.result.parts)]
    return "\n".join([*lines, *made.result.notes])
