"""One bench at a time in a folder."""

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
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_one_is_refused_and_told_who_holds_it(tmp_path: Path) -> None:
    with locked(tmp_path), pytest.raises(UsageError, match=rf"process {os.getpid()}.*--out"), locked(tmp_path):
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
