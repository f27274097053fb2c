"""Who is compared: maitred, kube-scheduler, and a bare loop of binds that decides nothing."""

import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.client import HTTPResponse

from maitred.sandbox.controlplane.commands import HOST
from maitred.sandbox.controlplane.process import POLL_SECONDS, READY_SECONDS, Process, ProcessError
from maitred.sandbox.controlplane.run import ControlPlane, free_ports
from maitred.sandbox.users import MAITRED as ACCOUNT

MAITRED, KUBE_SCHEDULER, BARE_BINDS = "maitred", "kube-scheduler", "bare binds"
SCHEDULER_NAMES = {MAITRED: "maitred", KUBE_SCHEDULER: "default-scheduler", BARE_BINDS: "nobody"}
"""What the pods name that each of them is to seat."""


class AnyStatus(urllib.request.HTTPErrorProcessor):
    """Not ready is an answer too."""

    def http_response(self, request: urllib.request.Request, response: HTTPResponse) -> HTTPResponse:
        return response


_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}), AnyStatus())


@dataclass(frozen=True, slots=True)
class Running:
    """A maitred scheduler and where it answers."""

    process: Process
    url: str

    def wait_for(self, path: str, wanted: Callable[[str], bool]) -> float:
        """Until some line of the answer is as wanted. Returns the moment."""
        deadline = time.monotonic() + READY_SECONDS
        while not any(map(wanted, self._lines(path))):
            self.process.wait_ready(f"{self.url}/healthz")
            if time.monotonic() > deadline:
                raise ProcessError(f"maitred: {path} is not as it should be; {self.process.last_words()}")
            time.sleep(POLL_SECONDS)
        return time.monotonic()

    def _lines(self, path: str) -> list[str]:
        """None while there is no answer."""
        try:
            with _OPENER.open(f"{self.url}{path}", timeout=READY_SECONDS) as answer:
                return bytes(answer.read()).decode().splitlines()
        except OSError:
            return []


@contextmanager
def started_maitred(plane: ControlPlane) -> Iterator[Running]:
    """Just started, and not ready yet."""
    [port] = free_ports(1)
    options = ["--kubeconfig", str(plane.kubeconfig(ACCOUNT)), "--no-leader-election", "--answers", ""]
    command = [sys.executable, "-m", "maitred.cli", "scheduler", *options, "--listen", f"{HOST}:{port}"]
    process = Process(command, plane.directory / "maitred.log")
    process.start()
    try:
        yield Running(process, f"http://{HOST}:{port}")
    finally:
        process.stop()


@contextmanager
def scheduler(plane: ControlPlane, name: str) -> Iterator[Process]:
    """One of the two, ready."""
    if name == KUBE_SCHEDULER:
        with plane.kube_scheduler() as process:
            yield process
    else:
        with started_maitred(plane) as running:
            # A standby is ready too, and for a moment every process is one.
            running.wait_for("/readyz", lambda line: line == "leading")
            yield running.process
