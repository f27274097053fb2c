"""How property tests run, and the real control plane that some tests run on.

Property tests: the profile ``ci`` finds the same examples every time, ``explore`` new ones, and more of them.
Choose by the environment variable HYPOTHESIS_PROFILE. Both print how to reproduce what they find, and neither
has a deadline: the time of one example says nothing about whether it is right.

The control plane: MAITRED_KUBERNETES names its release, MAITRED_WORKLOAD_GATES=off turns its workload API
off, and MAITRED_REQUIRE_CONTROL_PLANE=1 fails the tests that need one where it cannot be had, instead of
skipping them.
"""

import os
import re
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from maitred.sandbox.controlplane.progress_lines import Progress
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.controlplane.toolchain import UnavailableError
from maitred.sandbox.controlplane.versions import RELEASES

_common = settings(deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", _common, derandomize=True, database=None, max_examples=100)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=40)
settings.register_profile("explore", _common, max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# Schedulers that tests start keep no books, unless a test says where.
os.environ["MAITRED_LEDGER"] = "none"

NOT_HAD = "no control plane: "
OPERATORS = "operators"
DIVIDED = {"control-plane", "scenarios", "sandbox"}
"""Groups of tests that take so long that two workers share them,"""
FIRST_PART = re.compile(r"crash|kill|fault|beside|/attacks/|/docs/")
"""and the files that the first of the two has: about half of each group."""
REAL = {"control_plane", "bare_control_plane", OPERATORS}


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """A real API server with its controllers, shared by all tests of this process: clean up what you make."""
    with started(pytestconfig) as plane, plane.controller_manager():
        yield plane


@pytest.fixture(scope="session")
def bare_control_plane(pytestconfig: pytest.Config) -> Iterator[ControlPlane]:
    """A real API server without controllers: only what tests do happens on it. Use a namespace each."""
    with started(pytestconfig) as plane:
        yield plane


@contextmanager
def started(config: pytest.Config) -> Iterator[ControlPlane]:
    name = os.environ.get("MAITRED_KUBERNETES", "1.37.1")
    if name not in RELEASES:
        pytest.fail(f"MAITRED_KUBERNETES is {name}; it can be one of {', '.join(RELEASES)}")
    gates = os.environ.get("MAITRED_WORKLOAD_GATES", "on") != "off"
    with ExitStack() as stack:
        with or_not_tested():
            plane = stack.enter_context(
                ControlPlane(RELEASES[name], workload_gates=gates, say=progress(config))
            )
        yield plane


@contextmanager
def or_not_tested() -> Iterator[None]:
    """Where programs cannot be built, the tests that need them are skipped, or fail."""
    try:
        yield
    except UnavailableError as error:
        reason = f"{NOT_HAD}{error}"
    else:
        return
    give_up = pytest.fail if os.environ.get("MAITRED_REQUIRE_CONTROL_PLANE") == "1" else pytest.skip
    give_up(reason)


def progress(config: pytest.Config) -> Progress:
    capture = config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        # A first build takes minutes, so this goes to the terminal at once, from test workers too.
        with capture.global_and_fixture_disabled():
            sys.stderr.write(f"\n{line}\n")
            sys.stderr.flush()

    return say


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that ask for a control plane are marked. They share a few workers, so that there are only a few
    of it: they mostly wait, and scenarios have nodes to themselves."""
    for item in items:
        if not REAL.isdisjoint(getattr(item, "fixturenames", ())):
            item.add_marker("control_plane")
            if OPERATORS in item.fixturenames:  # type: ignore[attr-defined]
                item.add_marker(OPERATORS)
            if item.get_closest_marker("xdist_group") is None:
                item.add_marker(pytest.mark.xdist_group("control-plane"))
        group = item.get_closest_marker("xdist_group")
        if group is not None and group.args[0] in DIVIDED:
            item.add_marker(pytest.mark.xdist_group(_part(group.args[0], item.path)), append=False)


def _part(group: str, path: Path) -> str:
    """Which of the workers that share the tests of a group has those of a file."""
    first = bool(FIRST_PART.search(path.as_posix()))
    return f"{group}-{1 if first else 2}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    skipped = [str(report.longrepr) for report in terminalreporter.getreports("skipped")]
    missing = [reason for reason in skipped if NOT_HAD in reason]
    if not missing:
        return
    terminalreporter.section("NOT TESTED ON A REAL CONTROL PLANE", sep="!", red=True, bold=True)
    reason = missing[0].partition(NOT_HAD)[2].rstrip("')\"")
    terminalreporter.line(f"{len(missing)} tests were skipped: {reason}", red=True)
    terminalreporter.line("The first build needs Go modules (GOPROXY) and, without Go, PyPI.", red=True)
    terminalreporter.line("MAITRED_REQUIRE_CONTROL_PLANE=1 makes this a failure.", red=True)
