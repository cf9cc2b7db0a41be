"""What this machine gives us."""

from __future__ import annotations

import os
from pathlib import Path


def available_cores() -> int:
    """The cores this process may use: its affinity, and a container's CPU quota, whichever is less."""
    return max(1, min(_affinity(), _quota(Path("/sys/fs/cgroup"))))


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
