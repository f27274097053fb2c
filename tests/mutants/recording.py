"""A pytest plugin that writes down which test runs which lines of the packages that mutants change.

It is loaded by the environment (`PYTEST_PLUGINS`), so that the workers of pytest-xdist have it too; each
writes a file of its own into the folder that `MAITRED_MUTANTS` names. Lines that run outside of a test, such
as those of imports, belong to no test and are written down apart.
"""

import json
import os
from collections.abc import Generator
from pathlib import Path

import pytest
from coverage import Coverage


class Recorder:
    def __init__(self, folder: Path, packages: list[str]) -> None:
        self._folder = folder
        self._packages = packages
        self._name = ""
        self._seconds: dict[str, float] = {}
        self._failed: set[str] = set()
        self._coverage = Coverage(data_file=None, config_file=False, include=[f"{p}/*" for p in packages])
        self._coverage.set_option("run:disable_warnings", ["no-data-collected"])

    def pytest_sessionstart(self) -> None:
        self._coverage.start()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Slow tests are too slow to be run for each of many changes, but for those that share a server."""
        items[:] = [item for item in items if group(item) or not item.get_closest_marker("slow")]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        # With pytest-xdist, the group of a test is part of its name.
        self._name = item.nodeid.removesuffix(f"@{group(item)}")
        self._coverage.switch_context(self._name)
        try:
            return (yield)
        finally:
            self._coverage.switch_context("")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._seconds[self._name] = self._seconds.get(self._name, 0.0) + report.duration
        if report.outcome != "passed":
            self._failed.add(self._name)

    def pytest_sessionfinish(self) -> None:
        self._coverage.stop()
        data = self._coverage.get_data()
        numbers = {test: number for number, test in enumerate(self._seconds)}
        covered = {name: data.contexts_by_lineno(name) for name in data.measured_files()}
        lines = {
            name: {line: [numbers[test] for test in tests if test] for line, tests in found.items()}
            for name, found in covered.items()
        }
        imported = {
            name: [line for line, tests in found.items() if "" in tests] for name, found in covered.items()
        }
        tests = [[test, took, test not in self._failed] for test, took in self._seconds.items()]
        text = json.dumps({"tests": tests, "lines": lines, "imported": imported})
        (self._folder / f"{os.getpid()}.json").write_text(text)


def group(item: pytest.Item) -> str | None:
    marker = item.get_closest_marker("xdist_group")
    return str(marker.args[0]) if marker else None


def pytest_configure(config: pytest.Config) -> None:
    folder, *packages = os.environ["MAITRED_MUTANTS"].split(os.pathsep)
    # Of pytest-xdist, the process that hands out the tests runs none.
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        config.pluginmanager.register(Recorder(Path(folder), packages))
