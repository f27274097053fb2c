"""Runs tests in an order given until one fails. In a process of its own, for what a change of a module does
when it is imported: `python -m tests.mutants.trying TESTS TRACK`.

TESTS has the tests with the seconds that each took before. A test that takes many times as long as it did is
stopped by a signal that ends the process. TRACK gets a line for every test that begins and for the one that
failed, which is all that is left after the signal.
"""

import json
import os
import resource
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import pytest

CAUGHT = 10
MEMORY = 8 << 30
OPTIONS = ["-q", "-s", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:schemathesis"]


class Failures:
    def __init__(self) -> None:
        self.any = False

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.any = self.any or report.failed


def until_one_fails(session: pytest.Session, tests: dict[str, float], track: Path) -> int:
    """The status for the end of this process: what tests share is taken down, and nothing can run after."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    failures = Failures()
    session.config.pluginmanager.register(failures)
    known = {item.nodeid: item for item in session.items}
    items: list[pytest.Item | None] = [*(known[name] for name in tests if name in known), None]
    for item, following in pairwise(items):
        if item is None:
            break
        note(track, "runs", item.nodeid)
        with limited(tests[item.nodeid]):
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        if failures.any:
            note(track, "fails", item.nodeid)
            session.config.hook.pytest_sessionfinish(session=session, exitstatus=CAUGHT)
            return CAUGHT
    return 0


@contextmanager
def limited(took: float) -> Iterator[None]:
    """Time of the processor for what spins; real time, which a busy machine needs more of, for what waits."""
    signal.setitimer(signal.ITIMER_PROF, 10 + 10 * took)
    signal.setitimer(signal.ITIMER_REAL, 60 + 20 * took)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)


def note(track: Path, word: str, test: str) -> None:
    with track.open("a") as written:
        written.write(f"{word} {test}\n")


def files_of(tests: dict[str, float]) -> list[str]:
    return list(dict.fromkeys(name.partition("::")[0] for name in tests))


class _Alone:
    """A session that runs nothing but these tests, and ends the process."""

    def __init__(self, tests: dict[str, float], track: Path) -> None:
        self._tests = tests
        self._track = track

    def pytest_runtestloop(self, session: pytest.Session) -> None:
        os._exit(CAUGHT if session.testsfailed else until_one_fails(session, self._tests, self._track))


if __name__ == "__main__":
    TESTS: dict[str, float] = json.loads(Path(sys.argv[1]).read_text())
    sys.exit(pytest.main([*OPTIONS, *files_of(TESTS)], plugins=[_Alone(TESTS, Path(sys.argv[2]))]) or CAUGHT)
