"""Killed at any moment: what was written is whole, what was said to be written is there, nothing is twice."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from maitred.ledger.connections import connect
from maitred.ledger.store import Ledger
from tests.ledger.made import HOUR, START, TODAY, adds_up, used
from tests.ledger.writing import STEP

ROOT = Path(__file__).parent.parent.parent
TIMES = 4


@pytest.mark.slow
def test_a_writer_that_is_killed_leaves_a_ledger_that_adds_up(url: str) -> None:
    rng, said = random.Random(8), START
    for _ in range(TIMES):
        command = [sys.executable, "-m", "tests.ledger.writing", url]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [process.stdout.readline()]
            time.sleep(rng.uniform(0, 0.3))
            process.kill()
            lines += process.stdout.readlines()
        said = max(said, *(int(line) for line in lines if line.endswith("\n")))
        check(Ledger.existing(url), said)


def check(ledger: Ledger, said: int) -> None:
    connection = connect(ledger.url, "write")
    [[written]] = connection.rows("select written from book")
    [[groups]] = connection.rows("select count(*) from parties")
    [[turns]] = connection.rows("select count(*) from verdicts")
    connection.close()
    steps = round((written - START) / HOUR / STEP)
    assert written >= said, "what was said to be written is there"
    assert adds_up(ledger)
    assert ledger.usage(TODAY, TODAY + 1).observed == steps * round(STEP * HOUR)
    assert (groups, turns) == (steps, steps)
    assert used(ledger)["red", "lostToFailure"] == pytest.approx(steps * STEP)
