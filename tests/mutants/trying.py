"""Runs the tests of one mutant, in an order given, until one fails: `python -m tests.mutants.trying TESTS
TRACK`.

TESTS has batches of tests with the seconds that each took before; the first batches are small, so that a
change that every test sees costs the import of a few files only. A test that fails is run a second time, and
a change is caught only when it fails again. A test that takes many times as long as it did is stopped by a
signal that ends this process. TRACK gets a line for every test that begins and for the one that failed, which
is all that is left after the signal.
"""

import json
import resource
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

CAUGHT = 10
MEMORY = 8 << 30
IMPORT = "(the import of the tests)"
OPTIONS = ["-x", "-q", "--no-header", "--tb=no", "-p", "no:cacheprovider", "-p", "no:schemathesis"]


class Order:
    """Keeps the tests named, in the order named, each with a limit on its time."""

    def __init__(self, tests: dict[str, float], track: Path) -> None:
        self._tests = tests
        self._track = track
        self.failed: str | None = None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        rank = {name: at for at, name in enumerate(self._tests)}
        items[:] = sorted((i for i in items if i.nodeid in rank), key=lambda item: rank[item.nodeid])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        note(self._track, "runs", item.nodeid)
        took = self._tests[item.nodeid]
        # Time of the processor for what spins; real time, which a busy machine needs more of, for what waits.
        signal.setitimer(signal.ITIMER_PROF, 20 + 10 * took)
        signal.setitimer(signal.ITIMER_REAL, 600 + 20 * took)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.setitimer(signal.ITIMER_REAL, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid


def failing(tests: dict[str, float], track: Path) -> str | None:
    order = Order(tests, track)
    files = list(dict.fromkeys(name.partition("::")[0] for name in tests))
    status = pytest.main([*OPTIONS, *files], plugins=[order])
    if order.failed is None and status not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return IMPORT
    return order.failed


def caught_by(tests: dict[str, float], track: Path) -> str | None:
    while tests:
        by = failing(tests, track)
        if by is None or by == IMPORT or failing({by: tests[by]}, track) is not None:
            return by
        names = list(tests)
        tests = {name: tests[name] for name in names[names.index(by) + 1 :]}
    return None


def main(tests: Path, track: Path) -> int:
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for batch in json.loads(tests.read_text()):
        by = caught_by(batch, track)
        if by is not None:
            note(track, "fails", by)
            return CAUGHT
    return 0


def note(track: Path, word: str, test: str) -> None:
    with track.open("a") as written:
        written.write(f"{word} {test}\n")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), Path(sys.argv[2])))
