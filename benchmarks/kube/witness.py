"""What the watcher has written: when each pod came, when it got which node, and when it was told to leave."""

import asyncio
import sys
import time
from collections.abc import Iterator, Set
from contextlib import contextmanager
from pathlib import Path

from benchmarks.objects import NAMESPACE
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.process import Process
from maitred.sandbox.controlplane.run import ControlPlane

POLL_SECONDS = 0.05
START_SECONDS = 60.0
WATCHER = Path(__file__).with_name("watcher.py")


class Witness:
    """Reads the watcher's lines as they come. The moments are the watcher's; monotonic clocks are shared."""

    def __init__(self, lines: Path) -> None:
        self.created: dict[str, float] = {}
        self.bound: dict[str, tuple[float, str]] = {}
        self.evicted: dict[str, float] = {}
        self._heard = 0
        self._file = lines.open()
        self._part = ""

    def close(self) -> None:
        self._file.close()

    @property
    def places(self) -> dict[str, str]:
        return {pod: node for pod, (_, node) in self.bound.items()}

    def forget(self) -> None:
        """Who was evicted by now does not count."""
        self.look()
        self.evicted.clear()

    def changes(self) -> int:
        """How many events there were by now."""
        self.look()
        return self._heard

    def look(self) -> None:
        *lines, self._part = (self._part + self._file.read()).split("\n")
        for line in lines:
            self._note(line)

    def _note(self, line: str) -> None:
        self._heard += 1
        moment, event, pod, node, leaving = line.split(" ")
        if leaving or event == "DELETED":
            self.evicted.setdefault(pod, float(moment))
        if event == "DELETED":
            self.created.pop(pod, None)
            self.bound.pop(pod, None)
        elif event in ("ADDED", "MODIFIED"):
            self.created.setdefault(pod, float(moment))
            if node:
                before = self.bound.setdefault(pod, (float(moment), node))[1]
                if before != node:
                    raise RuntimeError(f"pod {pod} was bound twice, to {before} and to {node}")

    async def until(self, pods: Set[str], seconds: float) -> bool:
        """Whether all of these pods were bound before the time was up."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.look()
            if pods <= self.bound.keys():
                return True
            await asyncio.sleep(POLL_SECONDS)
        return False


@contextmanager
def witness(plane: ControlPlane) -> Iterator[Witness]:
    """A watcher from now on, and what it sees. Called again, it starts with nothing seen."""
    log = plane.directory / "watched.txt"
    log.unlink(missing_ok=True)
    process = Process([sys.executable, WATCHER, plane.kubeconfig(ADMIN), NAMESPACE], log)
    process.start()
    found = Witness(log)
    try:
        wait_for_first_line(found)
        yield found
    finally:
        found.close()
        process.stop()


def wait_for_first_line(found: Witness) -> None:
    deadline = time.monotonic() + START_SECONDS
    while not found.changes():
        if time.monotonic() > deadline:
            raise RuntimeError(f"the watcher has not begun within {START_SECONDS:.0f} s")
        time.sleep(POLL_SECONDS)
