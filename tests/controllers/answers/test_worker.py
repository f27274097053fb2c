"""The thread that works answers out: a job can be stopped at any moment, and nothing is left of that."""

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from maitred.controllers.answers.worker import AnswerWorker, InterruptedJob

TRACED = """
import sys, threading
from maitred.controllers.answers.worker import AnswerWorker, InterruptedJob

worker = AnswerWorker()
ended = {"done": 0, "stopped": 0}
for number in range(150):
    began = threading.Event()

    def work(steps=number % 30):
        began.set()
        for _ in range(steps * 20_000):
            pass
        return steps

    job = worker.submit("caller", work)
    began.wait()
    worker.drop(job)
    worker.drop(job)
    following = worker.submit("caller", lambda: "whole", whole=True)
    assert following.done.result(5) == "whole"
    if job.done.done():
        ended["stopped" if isinstance(job.done.exception(), InterruptedJob) else "done"] += 1

assert ended["stopped"], ended
sys.settrace(lambda *_: None)
print(sum(len(str(number)) for number in range(1000)))
"""


def test_nothing_is_left_of_jobs_that_were_stopped() -> None:
    """Were an exception still on its way, a traced process would stand still in CPython 3.11, and the next
    job could be stopped in place of the one that was meant."""
    done = subprocess.run(
        [sys.executable, "-c", TRACED], capture_output=True, text=True, timeout=60, cwd=Path(__file__).parent
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "2890\n", "")


def test_a_closed_worker_stops_its_job_and_begins_no_other() -> None:
    before = set(threading.enumerate())
    worker, began = AnswerWorker(), threading.Event()
    (thread,) = set(threading.enumerate()) - before

    def for_ever() -> None:
        began.set()
        while True:
            pass

    running, waiting = worker.submit("one", for_ever), worker.submit("another", lambda: None)
    began.wait()
    worker.close()
    with pytest.raises(InterruptedJob):
        running.done.result(30)
    thread.join(30)
    assert not thread.is_alive()
    assert not waiting.done.done()
