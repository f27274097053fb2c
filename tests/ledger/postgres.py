"""A real PostgreSQL server for tests: in a temporary directory, on a Unix socket, gone afterwards."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

START_SECONDS = 60
QUICK = (
    "-c",
    "fsync=off",
    "-c",
    "listen_addresses=",
    "-c",
    "max_connections=20",
    "-c",
    "shared_buffers=16MB",
)


class UnavailableError(Exception):
    pass


def program(name: str) -> str:
    """On the path, or where Debian has it."""
    if (found := shutil.which(name)) is not None:
        return found
    kept = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    if not kept:
        raise UnavailableError(f"no {name}; tests/ledger/postgresql.sh installs it")
    return str(kept[-1])


def server_user() -> str | None:
    """The server refuses to run as root, who must say who it is to be."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


@contextmanager
def server() -> Iterator[str]:
    """The directory of the socket."""
    user = server_user()
    with tempfile.TemporaryDirectory(prefix="maitred-postgres-") as place:
        data = Path(place, "data")
        if user is not None:
            shutil.chown(place, user)
        make = [program("initdb"), "-D", str(data), "-U", "maitred", "-A", "trust", "--no-sync", "-E", "UTF8"]
        subprocess.run(make, check=True, capture_output=True, user=user, cwd=place)
        control = [program("pg_ctl"), "-D", str(data), "-w", "-t", str(START_SECONDS)]
        options = " ".join((*QUICK, "-k", place))
        start = [*control, "-l", f"{place}/log", "-o", options, "start"]
        subprocess.run(start, check=True, capture_output=True, user=user, cwd=place)
        try:
            yield place
        finally:
            stop = [*control, "-m", "immediate", "stop"]
            subprocess.run(stop, check=True, capture_output=True, user=user, cwd=place)
