"""One bench at a time in a folder, one timed bench on a machine."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from diffgan.bench.lock import locked
from diffgan.errors import UsageError

HOLD = """
import sys
from pathlib import Path
from diffgan.bench.lock import locked
with locked(Path(sys.argv[1]), timed=True):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_one_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    refused = pytest.raises(UsageError, match=rf"process {os.getpid()}\) runs in .*wait for its end")
    with locked(tmp_path, timed=False), refused, locked(tmp_path, timed=False):
        pass
    with locked(tmp_path, timed=False):
        pass


def test_two_timed_ones_are_refused_in_any_folders_and_others_are_not(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    one.mkdir()
    other.mkdir()
    with locked(one, timed=True):
        with (
            pytest.raises(UsageError, match=rf"process {os.getpid()}\) runs on this machine"),
            locked(other, timed=True),
        ):
            pass
        with locked(other, timed=False):
            pass
    with locked(other, timed=True):
        pass


def test_without_a_cache_folder_a_timed_one_runs_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("DIFFGAN_CACHE", str(tmp_path / "file" / "cache"))
    with locked(tmp_path, timed=True):
        pass


def test_a_killed_holder_holds_it_no_longer(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match=f"process {holder.pid}"), locked(tmp_path, timed=False):
            pass
        holder.kill()
    with locked(tmp_path, timed=True):
        pass
