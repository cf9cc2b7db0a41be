"""What docs/results.md shows of a bench: its tables, and by how much one strategy is ahead of each other one.

    python docs/benchmarks/results.py FOLDER [--of nsga2]

FOLDER is where `diffgan bench` wrote. The tables are those of its results.md, with headings one deeper and without the
unique triggers by time. A ratio is that of the medians over seeds at a mark; in brackets, A12: how probably a run of
the one has a greater DV than a run of the other. There is no ratio where a run did not reach the mark, or half of them
found nothing. What is said before the first table (cells that are left, or failed) stands before it here, too.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import Any

from diffgan.bench.rows import DONE, Rows
from diffgan.bench.wording import mark_name
from diffgan.stats import vargha_delaney

#: Tables that results.md has and the page does not need.
LEFT_OUT = ("Unique triggers by time",)

Row = dict[str, Any]


def tables(text: str) -> str:
    """The tables of a results.md, from its first pair on, and what is missing in them."""
    start = text.index("\n## ")
    before = [line for line in text[:start].splitlines() if _is_missing(line)]
    pairs = "".join(f"{line}\n" for line in before) + text[start:]
    parts = re.split(r"^(?=### )", pairs, flags=re.MULTILINE)
    kept = [part for part in parts if not part.startswith(tuple(f"### {title}" for title in LEFT_OUT))]
    return re.sub(r"^#", "##", "".join(kept), flags=re.MULTILINE).strip()


def _is_missing(line: str) -> bool:
    """Whether it says that cells are not done, or failed."""
    done = re.match(r"([\d,]+) of ([\d,]+) cells are done", line)
    return " failed: " in line or (done is not None and done[1] != done[2])


def ratios(rows: list[Row], strategy: str) -> list[str]:
    """A table: the strategy over each other one, at each mark."""
    by_name: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_name[row["strategy"]].append(row)
    marks = rows[0]["definition"]["marks"]
    columns = [(by, place, mark) for by in ("seconds", "queries") for place, mark in enumerate(marks[by])]
    names = [mark_name(mark, by) for by, _, mark in columns]
    lines = [f"| `{strategy}` over | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    for other, theirs in by_name.items():
        if other == strategy:
            continue
        cells = [
            ratio(at(by_name[strategy], f"dv_at_{by}", place), at(theirs, f"dv_at_{by}", place))
            for by, place, _ in columns
        ]
        lines.append(f"| `{other}` | {' | '.join(cells)} |")
    return lines


def at(rows: list[Row], key: str, place: int) -> list[float]:
    """What was found by a mark; nothing where a run did not reach it: the quick ones would speak for all."""
    values = [None if row[key] is None else row[key][place] for row in rows]
    return [] if None in values else values


def ratio(ours: list[float], theirs: list[float]) -> str:
    """One cell of the table."""
    if not ours or not theirs or not median(theirs):
        return "–"
    return f"{median(ours) / median(theirs):.3g} × ({vargha_delaney(ours, theirs):.2f})"


def main() -> None:
    """Prints Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--of", default="nsga2", metavar="STRATEGY")
    arguments = parser.parse_args()
    rows = Rows(arguments.folder)
    done = [row for row in map(rows.get, rows.keys()) if row is not None and row["status"] == DONE]
    print(tables((arguments.folder / "results.md").read_text(encoding="utf-8")))
    own = {(row["pair"], row["generator"]) for row in done if row["strategy"] == arguments.of}
    for pair, generator in sorted(own):
        beside = [row for row in done if row["pair"] == pair and row["generator"] in (generator, None)]
        print(f"\n### {pair}, {generator}: by how much it is ahead\n")
        print("\n".join(ratios(beside, arguments.of)))


if __name__ == "__main__":
    main()
