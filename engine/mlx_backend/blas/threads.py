"""How many threads a matrix product should use: one per physical core, less one for everything else.

OpenBLAS's threads wait for each other by spinning, so one that is put off its core stops them all: with
one of two cores busy elsewhere, a five-row pass of SmolLM2-135M took 300 to 3000 ms on two threads and a
steady 115 ms on one (both cores idle: 80 and 105 ms). The screen, the store and the browser need a core
of their own.
"""

from __future__ import annotations

import os
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")
QUOTA = Path("/sys/fs/cgroup/cpu.max")


#: A product of one pass has a few million terms; more threads would mostly wait for each other.
MOST = 8


def thread_count() -> int:
    """The user's setting if there is one, else what suits this machine."""
    return thread_setting() or max(1, min(physical_cores() - 1, MOST))


def thread_setting(environ: dict[str, str] | os._Environ[str] = os.environ) -> int | None:
    """The user's own choice, in the variables OpenBLAS reads; None when there is none."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        value = environ.get(name, "")
        if value.isdigit() and int(value) > 0:
            return int(value)
    return None


def physical_cores(cpus: Path = CPUS, quota: Path = QUOTA) -> int:
    """Distinct cores among the CPUs this process may use, no more than a container's quota allows.

    Two threads on one core share its multipliers, so a second one only adds waiting.
    """
    allowed = sorted(os.sched_getaffinity(0))
    cores = {_siblings(cpus, cpu) for cpu in allowed}
    return max(1, min(len(cores), _quota(quota) or len(cores)))


def _siblings(cpus: Path, cpu: int) -> str:
    try:
        return (cpus / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text().strip()
    except OSError:
        return str(cpu)


def _quota(path: Path) -> int | None:
    try:
        limit, period = path.read_text().split()
        return max(1, int(limit) // int(period))
    except (OSError, ValueError):  # no cgroup v2, or "max": no limit
        return None
