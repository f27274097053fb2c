"""The benchmark of the sandbox still runs. Time belongs to `make`."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_it_runs_at_a_small_size() -> None:
    command = [sys.executable, "-m", "benchmarks.sandbox", "server", "same-process", "--quick"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "events to 10 watches" in done.stdout
