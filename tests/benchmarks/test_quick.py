"""The benchmarks still run. What they measure is not looked at here: time belongs to `make bench`."""

import subprocess
import sys

import pytest


@pytest.mark.slow
def test_the_benchmarks_run_at_small_sizes() -> None:
    done = subprocess.run([sys.executable, "-m", "benchmarks", "--quick"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Times the floor" in done.stdout
