"""`python kubelets.py KUBECONFIG`: a process with a simulated kubelet for every node that asks for one.

They start and stop pods at once, so that what is timed is the schedulers' part.
"""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from maitred.cli.loops import quickest_loop
from maitred.kube.client import Client
from maitred.kube.connect import connect
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.process import Process
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.fleet import kubelets_of_marked_nodes

SELDOM = 3600.0
"""Seconds between heartbeats: no controller runs here who would miss them."""


async def run(kubeconfig: str) -> None:
    async with (
        Client(connect(kubeconfig)) as client,
        kubelets_of_marked_nodes(client, start_seconds=0.0, stop_seconds=0.0, heartbeat_seconds=SELDOM),
    ):
        await asyncio.get_running_loop().create_future()


@contextmanager
def kubelets(plane: ControlPlane) -> Iterator[Process]:
    log = plane.directory / "kubelets.log"
    process = Process([sys.executable, Path(__file__), plane.kubeconfig(ADMIN)], log)
    process.start()
    try:
        yield process
    finally:
        process.stop()


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=quickest_loop()) as runner:
        runner.run(run(*sys.argv[1:]))
