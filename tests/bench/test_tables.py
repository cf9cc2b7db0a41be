"""Tables, comparisons, curves and files, from rows made by hand."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import numpy as np
import pytest

from diffgan.bench.comparing import pairings
from diffgan.bench.curves import counted_at, frame_of
from diffgan.bench.files import as_csv
from diffgan.bench.markdown import as_markdown
from diffgan.bench.page import as_page
from diffgan.bench.rows import Row
from diffgan.bench.tables import results_of
from diffgan.stats import mann_whitney
from tests.bench.rows_by_hand import benched, row, study


def rows(**changed: Any) -> list[Row]:
    made = []
    for seed in range(4):
        made.append(row("nsga2", seed, [10 + seed, 100 + seed, 7], **changed))
        made.append(row("random", seed, [10 + seed, 20 + seed, None if seed == 3 else 5], **changed))
    return made


def test_a_strategy_stands_by_its_medians() -> None:
    (block,) = results_of(benched(rows())).blocks
    nsga2 = block.standings[0]
    assert (nsga2.strategy, nsga2.runs) == ("nsga2", 4)
    dv = nsga2.figures["dv"]
    assert dv is not None
    assert dv.estimate == 101.5
    assert 100 <= dv.low < dv.high <= 103
    assert [at.estimate for at in nsga2.at_seconds if at] == [11.5, 101.5]
    assert nsga2.unique_at_seconds == [(20.0, 20, 20), (40.0, 40, 40)]
    # 40 unique triggers where the data itself has 8; 24, 48 and 8 of 80 valid ones.
    assert nsga2.improvement == 4.0
    assert nsga2.right_per_1000 == (300.0, 600.0, 100.0)
    assert nsga2.variation == 0.0
    # One of random's runs ended before the mark of queries.
    assert block.standings[1].at_queries == [None]


def test_who_is_ahead_is_told_at_the_last_mark_that_all_reached() -> None:
    (block,) = results_of(benched(rows())).blocks
    (by_time,) = block.comparisons
    assert (by_time.first, by_time.second, by_time.by, by_time.mark) == ("nsga2", "random", "seconds", 20)
    assert (by_time.median_first, by_time.median_second, by_time.a12) == (101.5, 21.5, 1.0)
    # Four against four that never cross: 2 of the 70 orders are as extreme.
    assert by_time.p == by_time.p_holm == pytest.approx(2 / 70)
    assert by_time.ahead == "nsga2"


def test_a_run_that_ended_early_moves_the_comparison_to_an_earlier_mark() -> None:
    made = rows()
    made[0]["dv_at_seconds"] = [10, None]
    (block,) = results_of(benched(made)).blocks
    (against,) = block.comparisons
    assert against.mark == 10
    assert against.ahead is None
    assert "no difference shown" in as_markdown(results_of(benched(made)))


def test_p_is_corrected_over_the_whole_study() -> None:
    both = [*rows(), *rows(pair="q")]
    made = benched(both, pairs={"p": ["a", "b"], "q": ["a", "b"]})
    blocks = results_of(made).blocks
    corrected = [against.p_holm for block in blocks for against in block.comparisons]
    assert corrected == pytest.approx([2 * 2 / 70] * 2)
    assert all(against.ahead is None for block in blocks for against in block.comparisons)


def test_the_first_and_the_baseline_meet_all_others_once() -> None:
    plan = study(strategies=["nsga2", "random", "dflare"], baseline="random")
    assert pairings(plan) == [("nsga2", "random"), ("nsga2", "dflare"), ("dflare", "random")]
    assert pairings(study(baseline=None)) == [("nsga2", "random"), ("nsga2", "dflare")]
    assert pairings(study(baseline="nsga2")) == [("nsga2", "random"), ("nsga2", "dflare")]


def test_what_needs_no_generator_stands_beside_each_and_is_compared_once() -> None:
    strategies = ["dflare", "drfuzz-free", "random"]
    made = [row("random", seed, [1, 2, 3], generator=name) for name in "gh" for seed in range(4)]
    made += [row(name, seed, [1, 2 + seed, 3], generator=None) for name in strategies[:2] for seed in range(4)]
    blocks = results_of(benched(made, generators={"g": "g", "h": "h"}, strategies=strategies)).blocks
    assert [[at.strategy for at in block.standings] for block in blocks] == [strategies] * 2
    met = [(against.first, against.second, against.by) for block in blocks for against in block.comparisons]
    assert met.count(("dflare", "drfuzz-free", "seconds")) == 1
    assert met.count(("dflare", "random", "seconds")) == 2


def test_without_a_judge_unique_triggers_are_compared() -> None:
    made = [{name: value for name, value in each.items() if not name.startswith("dv")} for each in rows()]
    results = results_of(benched(made, judge=None))
    assert results.headline == "unique"
    assert results.blocks[0].comparisons[0].median_first == 40
    assert "unique triggers by time" in as_markdown(results).lower()
    assert "Unique triggers" in as_page(results)


def test_a_curve_is_read_between_its_points() -> None:
    made = row("random", 0, [1, 2, 3])
    made["dv_curve"] = {"count": [1, 3, 4], "seconds": [5.0, 15.0, 15.0], "queries": [50, 500, 600]}
    # It rises from nothing to 1 at 5 s, and of two points at 15 s the last one holds.
    assert counted_at(made, np.array([0.0, 5.0, 10.0, 15.0, 20.0]), "seconds", "dv").tolist() == [0, 1, 2.5, 4, 4]


def test_a_chart_has_the_median_and_the_band() -> None:
    its = [row("random", seed, [1, 2, 3], seconds=20.0 + seed) for seed in range(3)]
    frame = frame_of({"nsga2": [], "random": its}, by="seconds", headline="dv", called="DV")
    assert frame is not None
    (curve,) = frame.curves
    assert (curve.name, curve.colour) == ("random", 2)
    assert curve.median.startswith("M52.0 260.0L")
    assert curve.band.endswith("Z")
    assert frame_of({"random": []}, by="seconds", headline="dv", called="DV") is None


def test_the_csv_has_a_line_a_cell() -> None:
    failed = row("dflare", 0, [1, 2, 3]) | {"status": "failed", "error": "no, luck"}
    kept = ("cell", "pair", "generator", "strategy", "seed", "status", "error", "initial", "finished", "fingerprint")
    made = [*rows(), {name: failed[name] for name in kept}]
    table = list(csv.DictReader(io.StringIO(as_csv(results_of(benched(made))))))
    assert len(table) == 9
    assert table[0]["dv_at_10_seconds"] == "10"
    assert table[0]["dv_at_100_queries"] == "7"
    assert (table[0]["status"], table[0]["dv"]) == ("done", "100")
    assert (table[-1]["error"], table[-1]["dv"]) == ("no, luck", "")


def test_what_comes_from_files_is_text() -> None:
    failed = row("dflare", 0, [1, 2, 3]) | {"status": "failed", "error": "<script>alert(1)</script> | [x](y)"}
    results = results_of(benched([*rows(), failed], title="<b>bold</b>"))
    page, text = as_page(results), as_markdown(results)
    assert "<script>" not in page + text
    assert "&lt;b&gt;bold" in page
    assert r"\[x\]" in text
    assert "default-src &#39;none&#39;" in page
    assert "prefers-color-scheme: dark" in page
    assert "http" not in page.replace("http-equiv", "")


def test_json_is_whole_and_plain() -> None:
    content = json.loads(json.dumps(results_of(benched(rows())).as_json(), allow_nan=False))
    assert content["results"][0]["comparisons"][0]["ahead"] == "nsga2"
    assert content["headline"] == "dv"


def test_an_empty_bench_has_files_all_the_same() -> None:
    results = results_of(benched([]))
    assert results.blocks == []
    assert "0 of 12 cells" in as_markdown(results)
    assert "0 of 12 cells" in as_page(results)


def test_the_test_is_the_one_of_stats() -> None:
    assert mann_whitney([100, 101, 102, 103], [20, 21, 22, 23]).p == pytest.approx(2 / 70)
