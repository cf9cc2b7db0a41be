"""How many cores there are for us."""

from __future__ import annotations

from pathlib import Path

import pytest

from diffgan import system


@pytest.mark.parametrize(("content", "cores"), [("150000 100000", 2), ("100000 100000", 1), ("50000 100000", 1)])
def test_a_container_quota_is_rounded_up(tmp_path: Path, content: str, cores: int) -> None:
    (tmp_path / "cpu.max").write_text(content + "\n")
    assert system._quota(tmp_path) == cores


@pytest.mark.parametrize("content", ["max 100000", "", "nonsense", "100000 0"])
def test_no_quota_is_no_limit(tmp_path: Path, content: str) -> None:
    (tmp_path / "cpu.max").write_text(content)
    assert system._quota(tmp_path) > 10_000


def test_the_first_version_of_control_groups(tmp_path: Path) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu" / "cpu.cfs_quota_us").write_text("300000\n")
    (tmp_path / "cpu" / "cpu.cfs_period_us").write_text("100000\n")
    assert system._quota(tmp_path) == 3


def test_there_is_at_least_one_core() -> None:
    assert system.available_cores() >= 1
