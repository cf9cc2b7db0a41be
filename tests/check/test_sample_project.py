"""A project that uses the gate as docs/ci.md says: its commands, its CI files, its own tests."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.check.conftest import SAMPLE
from tests.check.junit_rules import faults
from tests.cli.here import run_here

DOCS = Path(__file__).resolve().parents[2] / "docs" / "ci.md"
FILES = (".github/workflows/model.yml", ".gitlab-ci.yml")
#: The commands of the docs search for long; these last options win.
SHORTER = ["--evaluations", "2000", "--strategy", "random", "--no-filters"]


def blocks(language: str) -> list[str]:
    """What stands in the docs' blocks of code."""
    return re.findall(rf"```{language}\n(.*?)```", DOCS.read_text(encoding="utf-8"), flags=re.DOTALL)


def commands(content: Any) -> list[str]:
    """What a CI file runs with diffgan."""
    if isinstance(content, dict):
        return [found for value in content.values() for found in commands(value)]
    if isinstance(content, list):
        return [found for value in content for found in commands(value)]
    return [content] if isinstance(content, str) and content.startswith("diffgan ") else []


def run(command: str) -> subprocess.CompletedProcess[str]:
    return run_here(*shlex.split(os.path.expandvars(command))[1:], *SHORTER)


@pytest.mark.parametrize("name", FILES)
def test_the_docs_show_the_files_of_the_sample(name: str) -> None:
    assert (SAMPLE / name).read_text(encoding="utf-8") in blocks("yaml")


def test_the_docs_commands_do_what_they_say(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(project / "page.md"))
    first = next(block for block in blocks("sh") if "--save-suite" in block)
    saved = run(first)
    assert saved.returncode == 0, saved.stderr
    github, gitlab = (commands(yaml.safe_load((project / name).read_text(encoding="utf-8"))) for name in FILES)
    failed = run(github[0])
    assert failed.returncode == 1, failed.stderr
    assert "regress and are not allowed to" in failed.stderr
    assert "❌ failed" in (project / "page.md").read_text(encoding="utf-8")
    assert faults((project / "report" / "diffgan.xml").read_text(encoding="utf-8")) == []
    (project / "allowed.txt").write_text((project / "report" / "run" / "regressions.txt").read_text(encoding="utf-8"))
    passed = run(gitlab[0].replace("report/run", "report/run-2"))
    assert passed.returncode == 0, passed.stderr
    assert "✅ passed" in (project / "report" / "diffgan.md").read_text(encoding="utf-8")
    assert faults((project / "report" / "diffgan.xml").read_text(encoding="utf-8")) == []


def test_the_plugin_is_light_for_sessions_that_do_not_use_it() -> None:
    code = "import sys, diffgan.check.plugin; print(' '.join(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"torch", "numpy", "scipy", "pydantic"} & set(done.stdout.split())


@pytest.mark.usefixtures("project")
def test_its_own_tests_have_the_fixture() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", "."]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout
