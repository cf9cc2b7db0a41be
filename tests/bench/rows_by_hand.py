"""Rows and studies made by hand, for what only reads them."""

from __future__ import annotations

from typing import Any

from diffgan.bench.rows import Row
from diffgan.bench.running import Benched
from diffgan.bench.study import Study
from diffgan.bench.study_files import parse_study

PLAN: dict[str, Any] = {
    "data": "digits",
    "pairs": {"p": ["a.onnx", "b.onnx"]},
    "generators": {"g": "g.pt"},
    "strategies": ["nsga2", "random", "dflare"],
    "seeds": 4,
    "budget": {"seconds": 20},
    "marks": {"seconds": [10, 20], "queries": [100]},
    "judge": {"models": ["j.onnx"]},
}

ENVIRONMENT = {"python": "3.13", "machine": "m", "cores": 2, "torch_threads": 1, "packages": {"numpy": "2.0"}}


def study(**changed: Any) -> Study:
    return parse_study(PLAN | changed, "hand.yaml")


def row(strategy: str, seed: int, dv: list[int | None], **changed: Any) -> Row:
    """A finished cell with this DV at 10 s, at 20 s and at 100 queries."""
    generator = changed.get("generator", None if strategy == "dflare" else "g")
    return {
        "cell": f"{changed.get('pair', 'p')}/{generator or '-'}/{strategy}/{seed}",
        "pair": "p",
        "generator": generator,
        "strategy": strategy,
        "seed": seed,
        "fingerprint": "f",
        "status": "done",
        "triggers": 50,
        "unique": 40,
        "valid": 20,
        "share_valid": 0.5,
        "share_valid_low": 0.35,
        "share_valid_high": 0.65,
        "dv": dv[1] or 0,
        "cells": 3,
        "largest_cell_share": 0.5,
        "exactly_one_right": 4,
        "valid_only_a_right": 6,
        "valid_only_b_right": 12,
        "valid_both_wrong": 2,
        "evaluations": 500,
        "queries": 1000,
        "queries_a": 500,
        "queries_b": 500,
        "seconds": 20.0,
        "images_per_second": 25.0,
        "preparation_seconds": 1.0,
        "dv_at_seconds": dv[:2],
        "dv_at_queries": dv[2:],
        "unique_at_seconds": [20, 40],
        "unique_at_queries": [4],
        "dv_curve": {"count": [1, 2], "seconds": [5.0, 15.0], "queries": [50, 500]},
        "unique_curve": {"count": [1, 40], "seconds": [5.0, 15.0], "queries": [50, 500]},
        "diversity": {},
        "initial": {"triggers": 8, "unique": 8, "valid": 2, "dv": 2},
        "wall_seconds": 25.0,
        "finished": "2026-01-01T00:00:00+00:00",
        "environment": ENVIRONMENT,
    } | changed


def benched(rows: list[Row], **changed: Any) -> Benched:
    return Benched(study(**changed), rows, cells=12, initial={"p": {"unique": 8, "triggers": 8, "valid": 2, "dv": 2}})
