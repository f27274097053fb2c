"""Waiting for what a server does in its own time."""

import time
from collections.abc import Callable

DEADLINE_SECONDS = 60.0


def eventually(holds: Callable[[], bool]) -> None:
    """Asks again and again until it holds; long after any server would have done it, it fails."""
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not holds():
        assert time.monotonic() < deadline, f"not within {DEADLINE_SECONDS:.0f} s"
        time.sleep(0.02)
