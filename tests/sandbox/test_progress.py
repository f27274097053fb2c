"""What is said of a control plane while it is being built: at once, in a pipe too, and again if it lasts."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Event

import pytest

from maitred.sandbox.controlplane import progress_lines
from maitred.sandbox.controlplane.versions import ETCD

PATIENCE_SECONDS = 60.0
GO = """#!/bin/sh
case "$1" in
version) echo "go version go1.26.6 linux/amd64" ;;
*) read -r line < "$GATE"; echo "the registry is not there" >&2; exit 1 ;;
esac
"""


def test_progress_is_read_from_a_pipe_while_the_build_lasts(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    program, gate = tmp_path / "bin" / "go", tmp_path / "gate"
    program.write_text(GO)
    program.chmod(0o755)
    os.mkfifo(gate)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    environment |= {"PATH": f"{program.parent}:{environment['PATH']}", "GATE": str(gate)}
    environment |= {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    held = os.open(gate, os.O_RDWR)
    with subprocess.Popen(
        [sys.executable, "-m", "maitred.cli", "up", "--kubernetes", "1.37"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == f"etcd {ETCD}: fetching its modules\n"
        os.write(held, b"go on\n")
        _, errors = process.communicate(timeout=PATIENCE_SECONDS)
    os.close(held)
    assert (process.returncode, errors) == (1, "go mod tidy failed: the registry is not there\n")


def test_what_lasts_is_told_again_with_how_long_it_has_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_lines, "SECONDS_BETWEEN_LINES", 0.0)
    said, again = list[str](), Event()

    def say(line: str) -> None:
        said.append(line)
        if len(said) > 1:
            again.set()

    with progress_lines.telling(say, lambda: f"compiling, {min(len(said), 1)} of 2"):
        assert again.wait(PATIENCE_SECONDS)
    assert said[:2] == ["compiling, 0 of 2", "compiling, 1 of 2, 0 s so far"]


def test_a_pipe_that_is_closed_ends_the_telling_and_not_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress_lines, "SECONDS_BETWEEN_LINES", 0.0)
    closed = Event()

    def say(line: str) -> None:
        if line != "compiling":
            closed.set()
            raise BrokenPipeError

    with progress_lines.telling(say, lambda: "compiling"):
        assert closed.wait(PATIENCE_SECONDS)
