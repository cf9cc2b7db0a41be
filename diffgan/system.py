"""What this machine gives us."""

from __future__ import annotations

import ctypes
import hashlib
import os
from functools import cache
from pathlib import Path

#: glibc's names for two bounds, from malloc.h.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

#: What shows figures, or does something else with a run.
_BESIDE = ("check", "cli", "demo.py", "labelling", "labels", "report", "selection", "testing")


@cache
def code_fingerprint() -> str:
    """Tells the code that figures depend on from any other: versions of a checkout change between releases."""
    root = Path(__file__).parent
    found = hashlib.sha256()
    for path in sorted(Path(folder, name) for folder, _, names in os.walk(root, followlinks=True) for name in names):
        place = path.relative_to(root)
        if path.suffix == ".py" and place.parts[0] not in _BESIDE and path.is_file():
            found.update(place.as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return found.hexdigest()[:32]


def available_cores() -> int:
    """The cores this process may use: its affinity, and a container's CPU quota, whichever is less."""
    return max(1, min(_affinity(), _quota(Path("/sys/fs/cgroup"))))


def has_fast_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 itself; elsewhere it is emulated, and slow."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return any(f" {name}" in flags for name in ("avx512_bf16", "amx_bf16", "bf16"))


def keep_freed_memory() -> None:
    """Has the C library keep the memory that is freed, up to a bound, instead of giving it back page by page.

    Loops over networks allocate and free the same tens of megabytes again and again; with the usual bounds, faulting
    the pages in again costs as much as the arithmetic does. Only glibc has this setting; elsewhere nothing happens.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return
    mallopt(_MMAP_THRESHOLD, 1 << 28)
    mallopt(_TRIM_THRESHOLD, 1 << 29)


def _affinity() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _quota(cgroup: Path) -> int:
    """The CPU quota in whole cores, rounded up; version 2 of control groups first, then version 1."""
    unlimited = 1 << 20
    try:
        if (cgroup / "cpu.max").exists():
            quota, period = (cgroup / "cpu.max").read_text().split()
        else:
            quota = (cgroup / "cpu/cpu.cfs_quota_us").read_text().strip()
            period = (cgroup / "cpu/cpu.cfs_period_us").read_text().strip()
        if quota in ("max", "-1"):
            return unlimited
        return -(-int(quota) // int(period))
    except (OSError, ValueError, ZeroDivisionError):
        return unlimited
