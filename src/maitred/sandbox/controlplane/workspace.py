"""Where a control plane keeps its data: in memory if there is enough, and only for as long as it runs."""

import fcntl
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MEMORY = Path("/dev/shm")
ENOUGH_MEMORY = 4 * 2**30
PREFIX = "maitred-control-plane-"
OWNER = "owner.lock"


@contextmanager
def workspace() -> Iterator[Path]:
    """A new directory. Those of processes that were killed are removed first: nobody else would."""
    base = MEMORY if in_memory() else Path(tempfile.gettempdir())
    for old in base.glob(f"{PREFIX}*"):
        if abandoned(old):
            shutil.rmtree(old, ignore_errors=True)
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX, dir=base, ignore_cleanup_errors=True) as name,
        Path(name, OWNER).open("w") as owner,
    ):
        fcntl.flock(owner, fcntl.LOCK_EX)
        yield Path(name)


def in_memory() -> bool:
    try:
        return shutil.disk_usage(MEMORY).free >= ENOUGH_MEMORY
    except OSError:
        return False


def abandoned(directory: Path) -> bool:
    """The kernel releases the lock of a process that died."""
    try:
        with (directory / OWNER).open() as owner:
            fcntl.flock(owner, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
