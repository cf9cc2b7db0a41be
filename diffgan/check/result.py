"""What a check has come to, in one place: for `summary.json`, JUnit, Markdown and people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diffgan.check.finds import examples_of
from diffgan.check.outcomes import INVALID, UNLABELLED, Answers, Integers, Outcome
from diffgan.check.policy import LEVEL, Policy, Weighed, fails_in_search, fails_in_suite, weigh
from diffgan.check.suites import Suite
from diffgan.datasets import Dataset
from diffgan.features.judge import Judge
from diffgan.images import hex_id
from diffgan.models.classifier import Classifier
from diffgan.stats import wilson_interval

#: Examples of each outcome.
SHOWN = 20

#: What examples are given of.
EXEMPLARY = (Outcome.REGRESSION, Outcome.FIX, Outcome.BOTH_WRONG, Outcome.UNLABELLED)


@dataclass(frozen=True, eq=False)
class Replayed:
    """A suite, and what both models say of it."""

    suite: Suite
    answers: Answers


@dataclass(frozen=True)
class Part:
    """One thing that is checked.

    Attributes:
        name: what it is.
        failure: why it fails; None where it passes.
        text: what it came to, in a line.
    """

    name: str
    failure: str | None
    text: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """Counts, examples, verdict.

    Attributes:
        models: old and new.
        data: the labelled data.
        on_data: what both say of it.
        replayed: the suites.
        finds: what the search has found.
        kept: ids that the filters have let pass.
        judges: the names of the models that labelled the finds.
        policy: what is let pass.
        notes: what a reader should know beside.
        search: what the search's finds depend on.
    """

    models: tuple[Classifier, Classifier]
    data: Dataset
    on_data: Answers
    replayed: Sequence[Replayed]
    finds: Answers
    kept: frozenset[int]
    judges: Sequence[str]
    policy: Policy
    notes: Sequence[str]
    search: dict[str, Any]

    @property
    def passed(self) -> bool:
        """Whether the new model may go out."""
        return not self.failures

    @property
    def failures(self) -> list[str]:
        """Why it may not."""
        return [part.failure for part in self.parts if part.failure is not None]

    @cached_property
    def weighed(self) -> Weighed:
        """What the labelled data say."""
        return weigh(self.policy, self.on_data)

    @cached_property
    def parts(self) -> list[Part]:
        """What is checked, one by one: the suites, the labelled data, the search."""
        return [*map(self._suite_part, self.replayed), self._data_part(), self._search_part()]

    @property
    def verdict(self) -> str:
        """In one sentence."""
        old, new = self.names
        return (
            f"{new} passes against {old}." if self.passed else f"{new} fails against {old}: {' '.join(self.failures)}"
        )

    @property
    def names(self) -> tuple[str, str]:
        """Of the models."""
        return self.models[0].name, self.models[1].name

    def label_name(self, label: int) -> str:
        """A class, as people call it."""
        if label in (UNLABELLED, INVALID):
            return "unlabelled" if label == UNLABELLED else "no class"
        return self.data.classes[label] if label < len(self.data.classes) else str(label)

    def described(self, answers: Answers, row: int) -> str:
        """One image in a line.

        Example: `41f0c3a95d7be802: 7, old 7, new 1`.
        """
        label, old, new = (self.label_name(int(column[row])) for column in (answers.labels, answers.old, answers.new))
        return f"{hex_id(int(answers.ids[row]))}: {label}, old {old}, new {new}"

    def examples(self, answers: Answers, outcome: Outcome) -> Integers:
        """Rows to show."""
        return examples_of(answers, outcome, SHOWN, kept=self.kept if answers is self.finds else None)

    def as_json(self) -> dict[str, Any]:
        """What `summary.json` holds under `check`; with equal inputs, and a limit of evaluations, it is equal."""
        return {
            "passed": self.passed,
            "failures": self.failures,
            "notes": list(self.notes),
            "models": {
                place: {"name": model.name, "fingerprint": model.fingerprint}
                for place, model in zip(("old", "new"), self.models, strict=True)
            },
            "policy": {
                "allow": sorted(map(hex_id, self.policy.allow)),
                "max_rate": self.policy.max_rate,
                "max_regressions": self.policy.max_regressions,
                "level": LEVEL,
            },
            "data": self._data_json(),
            "suites": [self._suite_json(part) for part in self.replayed],
            "search": {**self.search, "judges": list(self.judges), "kept": self._kept(), **self._tally(self.finds)},
        }

    def _kept(self) -> int:
        return len(self.kept.intersection(self.finds.ids.tolist()))

    def _data_json(self) -> dict[str, Any]:
        counts = self.on_data.counts()
        interval = wilson_interval(counts[Outcome.REGRESSION], len(self.data))
        return {
            "name": self.data.name,
            "fingerprint": self.data.fingerprint,
            "images": len(self.data),
            "accuracy": {
                place: float((column == self.data.labels).mean())
                for place, column in (("old", self.on_data.old), ("new", self.on_data.new))
            },
            "regression_rate": {"estimate": interval.estimate, "low": interval.low, "high": interval.high},
            "test": {"name": self.weighed.name, "p": self.weighed.p, "failed": self.weighed.failed},
            **self._tally(self.on_data),
        }

    def _suite_json(self, part: Replayed) -> dict[str, Any]:
        failing = set(fails_in_suite(self.policy, part.answers))
        regress = part.answers.ids[part.answers.rows(Outcome.REGRESSION)].tolist()
        return {
            "name": part.suite.name,
            "fingerprint": part.suite.fingerprint,
            "triggers": len(part.answers),
            "allowed": sum(number not in failing for number in regress),
            "failing": len(failing),
            **self._tally(part.answers),
        }

    def _tally(self, answers: Answers) -> dict[str, Any]:
        counts = {str(outcome): count for outcome, count in answers.counts().items()}
        shown = {
            str(outcome): [self._example(answers, int(row)) for row in self.examples(answers, outcome)]
            for outcome in EXEMPLARY
        }
        return {"outcomes": counts, "examples": shown}

    def _example(self, answers: Answers, row: int) -> dict[str, Any]:
        label = int(answers.labels[row])
        return {
            "id": hex_id(int(answers.ids[row])),
            "label": self.label_name(label) if label >= 0 else None,
            "old": self.label_name(int(answers.old[row])),
            "new": self.label_name(int(answers.new[row])),
        }

    def _suite_part(self, part: Replayed) -> Part:
        failing = fails_in_suite(self.policy, part.answers)
        text = f"{_counted(part.answers)} of {len(part.answers):,} replayed"
        allowed = part.answers.counts()[Outcome.REGRESSION] - len(failing)
        text += f"; {allowed:,} of the regressions allowed" if allowed else ""
        name = f"suite {part.suite.name}"
        if not failing:
            return Part(name, None, text)
        listed = ", ".join(map(hex_id, failing[:3])) + (", …" if len(failing) > 3 else "")
        return Part(name, f"{len(failing):,} of {part.suite.name} regress and are not allowed to ({listed}).", text)

    def _data_part(self) -> Part:
        counts = self.on_data.counts()
        regressions, fixes = counts[Outcome.REGRESSION], counts[Outcome.FIX]
        text = f"{_counted(self.on_data)} of {len(self.data):,} labelled images"
        if not self.weighed.failed:
            return Part("labelled data", None, text)
        why = (
            f"{regressions:,} regressions and {fixes:,} fixes make the new model significantly worse on "
            f"{self.data.name} (McNemar, p = {self.weighed.p:.2g})."
            if self.policy.max_rate is None
            else f"{regressions:,} regressions of {len(self.data):,} on {self.data.name} are significantly more than "
            f"--max-rate {self.policy.max_rate:g} (p = {self.weighed.p:.2g})."
        )
        return Part("labelled data", why, text)

    def _search_part(self) -> Part:
        failing = len(fails_in_suite(self.policy, self.finds))
        allowed = self.finds.counts()[Outcome.REGRESSION] - failing
        text = f"{_counted(self.finds)} of {len(self.finds):,} found among {self.search['evaluations']:,} images"
        text += f"; {allowed:,} of the regressions allowed" if allowed else ""
        if not fails_in_search(self.policy, self.finds):
            return Part("search", None, text)
        return Part(
            "search",
            f"The search found {failing:,} regressions that are not allowed, as the judges say; --max-regressions is "
            f"{self.policy.max_regressions:,}.",
            text,
        )


def remarks_on_data(models: tuple[Classifier, Classifier], data: Dataset, answers: Answers) -> list[str]:
    """A model that does no better than chance is probably asked wrongly."""
    pairs = zip(models, (answers.old, answers.new), strict=True)
    return [note for model, said in pairs for note in _no_better_than_chance(model.name, said, data)]


def remarks_on_judge(judge: Judge, data: Dataset) -> list[str]:
    """The same of a judge, whose labels decide."""
    said = judge.real_labels
    return [] if said is None else _no_better_than_chance(f"The judge {judge.name}", said, data)


def _no_better_than_chance(name: str, said: Integers, data: Dataset) -> list[str]:
    right = int(np.count_nonzero(said == data.labels))
    if len(data.classes) < 2 or wilson_interval(right, len(data)).low > 1 / len(data.classes):
        return []
    return [
        f"{name} is right on {100 * right / len(data):.1f} % of {data.name}, no better than chance: are its classes in "
        "another order, or its images prepared otherwise (diffgan inspect)?"
    ]


def _counted(answers: Answers) -> str:
    counts = answers.counts()
    texts = [f"{counts[outcome]:,} {name}" for outcome, name in _NAMED if counts[outcome] or outcome in _ALWAYS]
    return ", ".join(texts)


_ALWAYS = (Outcome.REGRESSION, Outcome.FIX)
_NAMED = (
    (Outcome.REGRESSION, "regressions"),
    (Outcome.FIX, "fixes"),
    (Outcome.BOTH_WRONG, "both wrong"),
    (Outcome.UNLABELLED, "unlabelled"),
    (Outcome.INVALID, "of no class"),
)
