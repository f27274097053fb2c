"""What a process uses, as the kernel counts it."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
MB = 1e6
IDLE_SECONDS = 2.0
IDLE_CPU = 0.2
"""Of a core: what a program may use that only waits."""
PATIENCE_SECONDS = 600.0


@dataclass(slots=True)
class Usage:
    cpu: float
    """Seconds on a core."""
    peak: float
    """MB of memory, the most it had at once."""


def usage(pid: int) -> Usage:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    user, system = int(fields[11]), int(fields[12])
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    peak = next(line for line in lines if line.startswith("VmHWM"))
    return Usage((user + system) / TICKS, int(peak.split()[1]) * 1024 / MB)


def forget_peak(pid: int) -> None:
    """The peak counts from now on: a server that runs for long has had some that belong to others."""
    Path(f"/proc/{pid}/clear_refs").write_text("5")


@contextmanager
def used_by(pid: int) -> Iterator[Usage]:
    """The time that the process uses while the block runs, known when it has ended, and its peak by then."""
    before, found = usage(pid), Usage(0.0, 0.0)
    yield found
    after = usage(pid)
    found.cpu, found.peak = after.cpu - before.cpu, after.peak


async def until_idle(pid: int, changes: Callable[[], int] = lambda: 0) -> None:
    """Until the program has next to nothing to do and, for as long, nothing was counted as a change."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while True:
        count, cpu = changes(), usage(pid).cpu
        await asyncio.sleep(IDLE_SECONDS)
        if changes() == count and usage(pid).cpu - cpu < IDLE_CPU * IDLE_SECONDS:
            return
        if time.monotonic() > deadline:
            raise RuntimeError(f"process {pid} is not idle after {PATIENCE_SECONDS:.0f} s")
