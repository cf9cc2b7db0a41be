"""A check as Markdown, for the page of a CI job."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from diffgan.check.outcomes import TITLES, Answers
from diffgan.check.result import EXEMPLARY
from diffgan.images import hex_id

if TYPE_CHECKING:
    from diffgan.check.result import Result

_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|~:@-])")
#: Examples of one outcome.
_SHOWN = 5


def as_markdown(result: Result) -> str:
    """The file's text."""
    old, new = map(_escaped, result.names)
    head = "✅ passed" if result.passed else "❌ failed"
    lines = [f"## diffgan check: {head}", "", f"{new} against {old}, on {_escaped(result.data.name)}.", ""]
    lines += [f"- {_escaped(failure)}" for failure in result.failures]
    lines += ["", *_table(result), "", *_accuracy(result), ""]
    for title, answers in _listed(result):
        lines += _examples(result, title, answers)
    lines += [f"> {_escaped(note)}" for note in result.notes]
    return "\n".join(lines).rstrip() + "\n"


def _table(result: Result) -> list[str]:
    outcomes = list(TITLES)
    rows = ["| | images | " + " | ".join(TITLES.values()) + " | |", "|---|" + "---:|" * (len(outcomes) + 1) + "---|"]
    for part, answers in zip(result.parts, _answers(result), strict=True):
        counts = answers.counts()
        cells = [f"{len(answers):,}", *(f"{counts[outcome]:,}" for outcome in outcomes)]
        rows.append(f"| {_escaped(part.name)} | {' | '.join(cells)} | {'failed' if part.failure else 'passed'} |")
    return rows


def _accuracy(result: Result) -> list[str]:
    facts = result.as_json()["data"]
    search = result.search
    generator = search["generator"]
    source = f"by {_escaped(search['strategy'])}" if generator is None else f"of {_escaped(generator['name'])}"
    by = f"labelled by {', '.join(map(_escaped, result.judges))}" if result.judges else "labelled by nobody"
    return [
        f"On the labelled data, {100 * facts['accuracy']['old']:.2f} % → {100 * facts['accuracy']['new']:.2f} % are "
        f"right ({facts['test']['name']}, p = {facts['test']['p']:.2g}).",
        "",
        f"What the search found ({search['evaluations']:,} images {source}, seed "
        f"{search['seed']}) is {by}. A search looks for trouble: these are counts and examples, no rates.",
    ]


def _examples(result: Result, title: str, answers: Answers) -> list[str]:
    lines = []
    for outcome in EXEMPLARY:
        rows = result.examples(answers, outcome)[:_SHOWN].tolist()
        lines += [f"| {_escaped(TITLES[outcome])} | {_row(result, answers, row)} |" for row in rows]
    if not lines:
        return []
    head = ["| | id | label | old | new |", "|---|---|---|---|---|"]
    return ["<details>", f"<summary>Examples: {html.escape(title)}</summary>", "", *head, *lines, "", "</details>", ""]


def _row(result: Result, answers: Answers, row: int) -> str:
    labels = (result.label_name(int(column[row])) for column in (answers.labels, answers.old, answers.new))
    return " | ".join([f"`{hex_id(int(answers.ids[row]))}`", *map(_escaped, labels)])


def _answers(result: Result) -> list[Answers]:
    return [*(part.answers for part in result.replayed), result.on_data, result.finds]


def _listed(result: Result) -> list[tuple[str, Answers]]:
    return [
        (part.name, answers)
        for part, answers in zip(result.parts, _answers(result), strict=True)
        if any(answers.counts()[outcome] for outcome in EXEMPLARY)
    ]


def _escaped(text: str) -> str:
    """Text that came from a file, as text: no link, no table, no tag."""
    return _SPECIAL.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))
