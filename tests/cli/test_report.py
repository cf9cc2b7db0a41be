"""`diffgan report`, as a user calls it."""

from __future__ import annotations

from pathlib import Path

from tests.cli.here import run_here
from tests.report.runs import Plan, write_run


def test_a_report_is_written_and_named(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan(count=30))
    done = run_here("report", run)
    assert done.returncode == 0, done.stderr
    assert done.stdout == ""
    assert str(run / "report.html") in done.stderr
    assert (run / "report.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_elsewhere_and_beside_another(tmp_path: Path) -> None:
    run, other = (write_run(tmp_path / name, Plan(count=5)) for name in ("one", "two"))
    done = run_here("report", run, "--compare", other, "--out", tmp_path / "both.html")
    assert done.returncode == 0, done.stderr
    assert "Side by side" in (tmp_path / "both.html").read_text(encoding="utf-8")
    assert not (run / "report.html").exists()


def test_what_is_no_run_is_said_in_a_line(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", Plan(count=5))
    for arguments in ([tmp_path / "nothing"], [run, "--compare", tmp_path], [run, "--out", tmp_path]):
        done = run_here("report", *arguments)
        assert done.returncode == 2
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith("diffgan: ")
