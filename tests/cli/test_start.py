"""The command itself: its help, its version, and what it costs to ask for them."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from maitred import __version__
from maitred.cli import VERBS, cli
from tests.docs.console import ROOT

HEAVY = ("msgspec", "numpy", "rich", "yaml")
FULL = Path("/dev/full")
THREADS = Path("/proc/self/task")


def test_help_names_every_verb_and_every_verb_has_help() -> None:
    shown = CliRunner().invoke(cli, ["--help"]).stdout
    for verb in VERBS:
        assert f"\n  {verb} " in shown
        assert CliRunner().invoke(cli, [verb, "--help"]).exit_code == 0


def test_version() -> None:
    assert CliRunner().invoke(cli, ["--version"], prog_name="maitred").stdout == f"maitred {__version__}\n"


def test_an_unknown_verb() -> None:
    result = CliRunner().invoke(cli, ["waltz"])
    assert result.exit_code == 2
    assert "no such command 'waltz'; there are: " in result.stderr


def test_help_imports_nothing_heavy() -> None:
    program = f"import sys, maitred.cli; print([m for m in {HEAVY} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert shown.stdout == "[]\n"


@pytest.mark.skipif(not THREADS.exists(), reason="the system does not list threads")
def test_numpy_starts_no_threads() -> None:
    """They would wait at full load between products of a few columns: twice the CPU for the same decision."""
    program = f"""if True:
        import os, sys, maitred.cli
        try:
            maitred.cli.main()
        finally:
            print("numpy" in sys.modules, len(os.listdir("{THREADS}")))
    """
    shown = subprocess.run(
        [sys.executable, "-c", program, "topology", "-f", ROOT / "examples/rack-bound"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout.splitlines()[-1] == "True 1"


@pytest.mark.skipif(not FULL.exists(), reason="the system has no disk that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["manifest", "--image", "a/b:1"]])
def test_a_full_disk_takes_one_line(arguments: list[str]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "maitred.cli", *arguments], stdout=full, stderr=subprocess.PIPE, text=True
        )
    assert (done.returncode, done.stderr) == (1, "the output: No space left on device\n")


def test_it_runs_as_a_module() -> None:
    shown = subprocess.run(
        [sys.executable, "-m", "maitred.cli", "--version"], capture_output=True, text=True, check=True
    )
    assert shown.stdout == f"maitred {__version__}\n"
