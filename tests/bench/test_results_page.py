"""docs/benchmarks/results.py: what docs/results.md shows of a bench."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.bench.rows_by_hand import row

MARKS = {"definition": {"marks": {"seconds": [10, 20], "queries": [100]}}}


@pytest.fixture(scope="module")
def page() -> dict[str, Any]:
    return runpy.run_path(str(Path(__file__).parents[2] / "docs" / "benchmarks" / "results.py"))


def test_ratios_are_of_medians_and_a12_counts_pairs(page: dict[str, Any]) -> None:
    found: dict[str, list[list[int | None]]] = {
        "nsga2": [[10, 40, 4], [20, 60, 8], [30, 50, 6]],
        "random": [[20, 10, None], [4, 20, None], [0, 30, None]],
        "dflare": [[0, 25, 4], [0, 25, 3], [1, 25, 2]],
    }
    rows = [row(name, seed, dv, **MARKS) for name, runs in found.items() for seed, dv in enumerate(runs)]
    table = page["ratios"](rows, "nsga2")
    assert table[0] == "| `nsga2` over | 10 s | 20 s | 100 queries |"
    # At 10 s: medians 20 and 4; of nine pairs ours is ahead in seven, and one is even (20 and 20).
    assert table[2] == "| `random` | 5 × (0.83) | 2.5 × (1.00) | – |"
    # A median of nothing has no ratio; at 100 queries 4 and 4 are even, the others ahead.
    assert table[3] == "| `dflare` | – | 2 × (1.00) | 2 × (0.94) |"
    assert len(table) == 4


def test_a_ratio_is_of_all_runs_or_there_is_none(page: dict[str, Any]) -> None:
    runs: dict[str, list[list[int | None]]] = {
        "nsga2": [[10, 40, 4], [20, 60, 8]],
        "random": [[20, 10, 1], [4, 20, None]],
    }
    rows = [row(name, seed, dv, **MARKS) for name, found in runs.items() for seed, dv in enumerate(found)]
    assert page["ratios"](rows, "nsga2")[2].endswith("| – |")


def test_what_is_missing_is_said(page: dict[str, Any]) -> None:
    done = "3 of 4 cells are done, the rest is not run yet."
    given = f"# T\n\n{done}\n\n- a/b/random/1 failed: no memory\n\nMedians\n\n## a/b\n\n| x |\n"
    assert page["tables"](given) == f"{done}\n- a/b/random/1 failed: no memory\n\n### a/b\n\n| x |"
    assert page["tables"]("# T\n\n4 of 4 cells are done.\n\n## a/b\n\n| x |\n") == "### a/b\n\n| x |"


def test_tables_start_at_the_first_pair_one_heading_deeper(page: dict[str, Any]) -> None:
    given = "# T\n\n## a/b\n\n### DV by time\n\n| x |\n\n### Unique triggers by time\n\n| y |\n\n### Who\n\n| z |\n"
    assert page["tables"](given) == "### a/b\n\n#### DV by time\n\n| x |\n\n#### Who\n\n| z |"
