"""The servers that are measured, each for as long as a `with` block lasts."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import say
from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.process import Process, ProcessError
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.controlplane.toolchain import cache_directory
from maitred.sandbox.controlplane.versions import RELEASES
from maitred.sandbox.controlplane.workspace import workspace

RELEASE = RELEASES["1.37.1"]
KUBECTL = cache_directory() / f"kubernetes-{RELEASE.tag}" / "kubectl"
"""It is there once a control plane was built."""
ALONE = Path(__file__).with_name("alone.py")
POLL_SECONDS = 0.01
PATIENCE_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Server:
    pid: int
    kubeconfig: Path
    directory: Path
    """For what others have to write down while it runs."""

    def client(self) -> Client:
        return Client(connect(str(self.kubeconfig)))


@dataclass(frozen=True, slots=True)
class Written:
    """What a program of ours says, line by line, and when."""

    process: Process
    began: float

    def until(self, words: str, times: int = 1) -> float:
        """Seconds from its start until it has said these words so often."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while self.process.log.read_text().count(words) < times:
            if time.monotonic() > deadline:
                raise ProcessError(f"no {words!r} in {PATIENCE_SECONDS:.0f} s; {self.process.last_words()}")
            time.sleep(POLL_SECONDS)
        return time.monotonic() - self.began


@contextmanager
def started(command: Sequence[str | Path], log: Path) -> Iterator[Written]:
    """A Python program, just started."""
    log.unlink(missing_ok=True)
    process = Process([sys.executable, *command], log)
    began = time.monotonic()
    process.start()
    try:
        yield Written(process, began)
    finally:
        process.stop()


@contextmanager
def alone() -> Iterator[Server]:
    with workspace() as directory:
        kubeconfig = directory / "kubeconfig"
        with started([ALONE, kubeconfig], directory / "alone.log") as program:
            program.until("https://")
            yield Server(program.process.pid, kubeconfig, directory)


@contextmanager
def real() -> Iterator[Server]:
    with ControlPlane(RELEASE, say=say) as plane:
        yield Server(plane.apiserver.pid, plane.kubeconfig(ADMIN), plane.directory)


@contextmanager
def up(directory: Path, *options: str | Path) -> Iterator[tuple[Server, Written]]:
    """`maitred up`, just started."""
    kubeconfig = directory / "kubeconfig"
    command = ["-m", "maitred.cli", "up", "--kubeconfig", kubeconfig, *options]
    with started(command, directory / "up.log") as program:
        yield Server(program.process.pid, kubeconfig, directory), program
