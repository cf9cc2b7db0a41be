"""A small study on models, data and a generator of the sample project."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

SAMPLE = Path(__file__).resolve().parents[1] / "check" / "sample_project"

STUDY = """
title: Tiny
data: data/test.npz
pairs:
  old-broken: [models/old.pt, models/broken.pt]
generators:
  painter: models/generator.pt
strategies: [divergence-only, random]
baseline: random
seeds: 2
budget: {evaluations: 300}
marks: {queries: [200, 600]}
judge: {models: [models/judge.pt], features: null}
batch: 100
"""


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "project"
    shutil.copytree(SAMPLE, folder)
    runpy.run_path(str(folder / "prepare.py"), run_name="__main__")
    (folder / "tiny.yaml").write_text(STUDY, encoding="utf-8")
    return folder


@pytest.fixture
def project(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder is a fresh copy."""
    folder = tmp_path / "project"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    return folder
