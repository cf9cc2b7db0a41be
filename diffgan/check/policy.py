"""When a check fails: the one place that decides."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diffgan.check.outcomes import Answers, Outcome
from diffgan.errors import DataError, DiffganError, UsageError
from diffgan.images import hex_id, id_from_hex
from diffgan.stats import mcnemar

#: What is significant: a chance of less than this.
LEVEL = 0.05

#: Ids that a remark names.
_NAMED = 5


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What is let pass.

    Attributes:
        allow: ids of triggers that may regress.
        max_rate: the share of the labelled data that may regress; None: the new model may be as good as the old.
        max_regressions: how many of the search's finds may be regressions; None: all.
    """

    allow: frozenset[int] = frozenset()
    max_rate: float | None = None
    max_regressions: int | None = None

    def __post_init__(self) -> None:
        if self.max_rate is not None and not 0 <= self.max_rate < 1:
            raise UsageError(f"--max-rate is a share of the labelled data, from 0 to below 1, not {self.max_rate}.")
        if self.max_regressions is not None and self.max_regressions < 0:
            raise UsageError(f"--max-regressions is a count, 0 or more, not {self.max_regressions}.")


@dataclass(frozen=True)
class Weighed:
    """What the labelled data say of the new model.

    Attributes:
        name: of the test.
        p: its p-value.
        failed: whether the new model does not pass.
    """

    name: str
    p: float
    failed: bool


def weigh(policy: Policy, answers: Answers) -> Weighed:
    """Whether the labelled data say that the new model is worse than allowed."""
    counts = answers.counts()
    regressions, fixes = counts[Outcome.REGRESSION], counts[Outcome.FIX]
    if policy.max_rate is None:
        p = mcnemar(regressions, fixes).p
        return Weighed("McNemar", p, regressions > fixes and p < LEVEL)
    from scipy.stats import binom

    # As many regressions or more, were their rate just the greatest that is allowed.
    p = float(binom.sf(regressions - 1, len(answers), policy.max_rate))
    return Weighed("binomial", p, p < LEVEL)


def fails_in_suite(policy: Policy, answers: Answers) -> list[int]:
    """The ids that regress although nobody has allowed them to."""
    return [number for number in answers.ids[answers.rows(Outcome.REGRESSION)].tolist() if number not in policy.allow]


def fails_in_search(policy: Policy, answers: Answers) -> bool:
    """Whether too many of the search's finds are regressions, as judges or people say, and not allowed to be."""
    return policy.max_regressions is not None and len(fails_in_suite(policy, answers)) > policy.max_regressions


def read_allowed(path: Path) -> frozenset[int]:
    """The ids in a file: one a line, with remarks after `#`.

    Raises:
        UsageError: the file cannot be read.
        DataError: a line holds something else.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, ValueError) as error:
        raise UsageError(f"--allow {path} cannot be read ({error}): give a text file with one id a line.") from error
    allowed = set()
    for number, line in enumerate(lines, start=1):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        try:
            allowed.add(id_from_hex(text))
        except DiffganError as error:
            raise DataError(f"--allow {path}, line {number}: {error}") from None
    return frozenset(allowed)


def remarks_on_allowed(policy: Policy, replayed: Sequence[Answers]) -> list[str]:
    """What of the list of allowed regressions is of no use, by what was replayed and what was found."""
    seen = {number for answers in replayed for number in answers.ids.tolist()}
    regress = {number for answers in replayed for number in answers.ids[answers.rows(Outcome.REGRESSION)].tolist()}
    unknown, better = policy.allow - seen, (policy.allow & seen) - regress
    remarks = []
    if unknown:
        remarks.append(
            f"{_listed(unknown)} in --allow, but in no --suite, and not found: give the suite, or take the line out."
        )
    if better:
        remarks.append(f"{_listed(better)} in --allow, but regress no more: the line can go.")
    return remarks


def _listed(ids: frozenset[int]) -> str:
    texts = sorted(map(hex_id, ids))
    more = f" and {len(texts) - _NAMED} more" if len(texts) > _NAMED else ""
    return f"{', '.join(texts[:_NAMED])}{more} {'stands' if len(texts) == 1 else 'stand'}"
