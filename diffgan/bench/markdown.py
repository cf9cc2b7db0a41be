"""A bench's results in Markdown."""

from __future__ import annotations

import html
import re

from diffgan.bench.tables import Results
from diffgan.bench.wording import PROTOCOL, Table, initial_of, tables_of, title_of

_SPECIAL = re.compile(r"([\\`*_\[\]#|~])")


def as_markdown(results: Results) -> str:
    """The file's text."""
    made = results.benched
    study = made.study
    lines = [f"# {_escaped(study.title or study.name)}", ""]
    lines += [f"{len(made.done)} of {made.cells} cells are done{', the rest is not run yet' * made.interrupted}.", ""]
    failed = [f"- {_escaped(row['cell'])} failed: {_escaped(row['error'])}" for row in made.failed]
    lines += [*failed, *([""] if failed else []), PROTOCOL, ""]
    for block in results.blocks:
        lines += [f"## {_escaped(title_of(block))}", "", initial_of(block), ""]
        for table in tables_of(results, block):
            lines += [f"### {table.title[0].upper()}{table.title[1:]}", "", *_rows(table), ""]
    return "\n".join(lines).rstrip() + "\n"


def _rows(table: Table) -> list[str]:
    ruler = "|" + "|".join(["---", *["---:"] * (len(table.head) - 1)]) + "|"
    return [_joined(table.head), ruler, *(_joined(line) for line in table.lines)]


def _joined(cells: list[str]) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    """Text that came from a file, as text: no link, no table, no tag."""
    return _SPECIAL.sub(r"\\\1", html.escape(" ".join(text.split()), quote=False))
