"""Tries changes one by one on tests that are collected once.

A change is judged in a fork of the process that has collected them, with the change put into the functions
there, and each run of tests is a fork of that. So it costs the tests and nothing else. Where functions are
not all of it, a new interpreter runs the tests instead, with the changed file ahead of the others on its
path. A test that fails is run a second time, from the start, and a change is caught only when it fails again.
"""

import gc
import importlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import FunctionType

import pytest

from tests.mutants.changes import Mutant
from tests.mutants.covering import Covering
from tests.mutants.patching import Key, live_functions, put_in
from tests.mutants.trying import OPTIONS, files_of, until_one_fails

HUNG = {-signal.SIGPROF, -signal.SIGALRM}

Batch = dict[str, float]


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant
    caught: bool = False
    tests: int = 0
    """That were run."""
    by: str = "no test runs it"
    """The test that failed, or why none did."""
    seconds: float = 0.0


class Overlay:
    """The sources as links, and beside them what they look for there; one file can be another."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root = root
        self.folder = folder
        for path in sorted((root / "src" / "maitred").rglob("*")):
            link = folder / path.relative_to(root)
            if path.is_file() and path.suffix != ".pyc":
                link.parent.mkdir(parents=True, exist_ok=True)
                link.symlink_to(path)
        for name in ("deploy", "examples"):
            (folder / name).symlink_to(root / name)

    @contextmanager
    def changed(self, mutant: Mutant) -> Iterator[None]:
        link = self.folder / "src" / mutant.path
        self._replace(link)
        link.write_bytes(mutant.source(self.root / "src"))
        try:
            yield
        finally:
            self._replace(link)
            link.symlink_to(self.root / "src" / mutant.path)

    def _replace(self, link: Path) -> None:
        link.unlink()
        for compiled in link.parent.glob(f"__pycache__/{link.stem}.*.pyc"):
            compiled.unlink()


class Judge:
    """A process that tries one change: first in functions of its own, so it ends with that."""

    def __init__(self, session: pytest.Session, overlay: Overlay) -> None:
        self._session = session
        self._overlay = overlay
        self._track = overlay.folder / "track"
        self._track.write_text("")

    def outcome(self, mutant: Mutant, batches: list[Batch], live: dict[Key, list[FunctionType]]) -> Outcome:
        self._move_in()
        with self._overlay.changed(mutant):
            here = live and put_in(mutant, self._overlay.root / "src", live)
            by = self._caught_by(batches, self.in_a_fork if here else self.in_an_interpreter)
        ran = sum(line.startswith("runs ") for line in self._track.read_text().splitlines())
        return Outcome(mutant, by is not None, ran, by or f"none of {ran} tests")

    def _move_in(self) -> None:
        """Processes that tests start see the change too; what tests leave in temporary folders is removed."""
        scratch = self._overlay.folder / "scratch"
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir()
        tempfile.tempdir = str(scratch)
        path = os.pathsep.join([str(self._overlay.folder / "src"), str(Path(__file__).parents[2])])
        os.environ.update(PYTHONPATH=path, TMPDIR=str(scratch), PYTEST_DEBUG_TEMPROOT=str(scratch))

    def _caught_by(self, batches: list[Batch], attempt: Callable[[Batch], int]) -> str | None:
        for batch in batches:
            rest = batch
            while rest and (status := attempt(rest)) != 0:
                name = (self._track.read_text().splitlines() or ["runs (the import)"])[-1].partition(" ")[2]
                if status in HUNG:
                    return f"{name} (took too long)"
                if name not in rest or attempt({name: rest[name]}) != 0:
                    return name
                names = list(rest)
                rest = {name: rest[name] for name in names[names.index(name) + 1 :]}
        return None

    def in_a_fork(self, tests: Batch) -> int:
        return ended(lambda: until_one_fails(self._session, tests, self._track))

    def in_an_interpreter(self, tests: Batch) -> int:
        plan = self._overlay.folder / "tests.json"
        plan.write_text(json.dumps(tests))
        command = [sys.executable, "-m", "tests.mutants.trying", str(plan), str(self._track)]
        with Path(os.devnull).open("w") as nowhere:
            return subprocess.run(
                command, cwd=self._overlay.root, stdout=nowhere, stderr=nowhere, check=False
            ).returncode


def ended(work: Callable[[], int]) -> int:
    """The status of a fork that does this."""
    pid = fork(work)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def fork(work: Callable[[], int]) -> int:
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            status = work()
        finally:
            os._exit(status)
    return pid


class Trials:
    """A plugin of pytest that tries changes instead of running the tests collected."""

    def __init__(
        self, overlays: list[Overlay], covered: Covering, patience: float, tell: Callable[[Outcome], None]
    ) -> None:
        self._free = overlays
        self._covered = covered
        self._patience = patience
        self._tell = tell
        self._judges: dict[int, tuple[Mutant, Overlay, float]] = {}

    def run(self, tried: list[Mutant], packages: list[Path], root: Path) -> None:
        self._waiting = deque(tried)
        self._modules = [
            ".".join(path.relative_to(root / "src").with_suffix("").parts)
            for package in packages
            for path in package.rglob("*.py")
            if path.stem != "__main__"
        ]
        self._root = root
        batches = (batch for mutant in tried for batch in self._covered.batches(mutant, self._patience))
        files = sorted({file for batch in batches for file in files_of(batch)})
        os.environ["HYPOTHESIS_PROFILE"] = "quick"
        pytest.main([*OPTIONS, *files], plugins=[self])

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        for name in self._modules:
            importlib.import_module(name.removesuffix(".__init__"))
        self._live = live_functions(self._root / "src")
        gc.collect()
        gc.freeze()
        try:
            while self._waiting or self._judges:
                if self._waiting and self._free:
                    self._begin(session, self._waiting.popleft())
                else:
                    self._finish()
        except KeyboardInterrupt:
            session.shouldstop = "interrupted"
        finally:
            for pid in self._judges:
                stop(pid)
        return True

    def _begin(self, session: pytest.Session, mutant: Mutant) -> None:
        batches = self._covered.batches(mutant, self._patience)
        if not batches:
            self._tell(Outcome(mutant))
            return
        overlay = self._free.pop()
        (overlay.folder / "outcome").unlink(missing_ok=True)
        live = {} if self._covered.runs_at_import(mutant) else self._live

        def judge() -> int:
            os.setsid()
            outcome = Judge(session, overlay).outcome(mutant, batches, live)
            said = {"caught": outcome.caught, "tests": outcome.tests, "by": outcome.by}
            (overlay.folder / "outcome").write_text(json.dumps(said))
            return 0

        self._judges[fork(judge)] = mutant, overlay, time.monotonic()

    def _finish(self) -> None:
        pid, _ = os.wait()
        mutant, overlay, began = self._judges.pop(pid)
        stop(pid)
        said = json.loads((overlay.folder / "outcome").read_text())
        self._free.append(overlay)
        outcome = replace(Outcome(mutant, **said), seconds=time.monotonic() - began)
        if outcome.caught:
            self._covered.caught[mutant.path, outcome.by] += 1
        self._tell(outcome)


def stop(leader: int) -> None:
    """Also what the tests have started."""
    with suppress(ProcessLookupError):
        os.killpg(leader, signal.SIGKILL)
