"""A copy of the sample project, with its models and data."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parent / "sample_project"

#: It is a project of its own, with its own tests.
collect_ignore = ["sample_project"]


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample") / "project"
    shutil.copytree(SAMPLE, folder)
    runpy.run_path(str(folder / "prepare.py"), run_name="__main__")
    (folder / "allowed.txt").write_text("", encoding="utf-8")
    return folder


@pytest.fixture
def project(prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder is a fresh copy."""
    folder = tmp_path / "project"
    shutil.copytree(prepared, folder)
    monkeypatch.chdir(folder)
    return folder
