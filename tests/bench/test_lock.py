"""One bench at a time in a folder, one timed bench on a machine."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from diffgan.bench import lock
from diffgan.bench.lock import alone_against_the_clock, locked
from diffgan.errors import UsageError

HOLD = """
import sys
from pathlib import Path
from diffgan.bench.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_one_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    refused = pytest.raises(UsageError, match=rf"process {os.getpid()}\) runs in .*wait for its end")
    with locked(tmp_path), refused, locked(tmp_path):
        pass
    with locked(tmp_path):
        pass


def test_a_killed_holder_holds_it_no_longer(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(UsageError, match=f"process {holder.pid}"), locked(tmp_path):
            pass
        holder.kill()
    with locked(tmp_path):
        pass


def test_one_at_a_time_runs_against_the_clock() -> None:
    refused = pytest.raises(UsageError, match=rf"process {os.getpid()}\) runs on this machine")
    with alone_against_the_clock(), refused, alone_against_the_clock():
        pass
    with alone_against_the_clock():
        pass


def test_without_a_cache_folder_one_runs_all_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setenv("DIFFGAN_CACHE", str(tmp_path / "file" / "cache"))
    with alone_against_the_clock():
        pass


def test_where_there_are_no_locks_a_folder_is_refused_and_a_cache_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none(_file: object) -> bool:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(lock, "try_lock", none)
    with pytest.raises(UsageError, match=r"cannot be locked \(No locks available\).*another disk"), locked(tmp_path):
        pass
    with alone_against_the_clock():
        pass
