"""`maitred why` where no scheduler runs: from the API server itself, and from a dump of it."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner

from maitred.cli import cli
from maitred.cli.manifest import NAMESPACE
from maitred.cli.why import SEATED, UNATTENDED
from maitred.kube.client import MERGE_PATCH, Client
from maitred.kube.resources import LEASES, NODES, PODS
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.world.objects import WorldObjects
from tests.oracle import builders as b
from tests.oracle.builders import Obj
from tests.sandbox.apiserver.running import RunningServer, running_server

LONG_AGO = timedelta(hours=1)


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[RunningServer]:
    """An API server on which nothing runs, with a node, and a pod that fits there."""
    node = b.node("n1")
    pod = b.pod("p", 1, scheduler="maitred", tolerations=["*"])
    # The Lease of somebody else: by it a dump shows that it has Leases, and what time it is.
    other = lease("kube-system", "kube-controller-manager", timedelta())
    with running_server(tmp_path) as server:
        create(server, b.namespace(NAMESPACE), node, pod, other)

        async def open_node(objects: WorldObjects) -> None:
            status = {"status": node["status"]}
            await objects.send("PATCH", await objects.path(node, "status"), status, MERGE_PATCH)

        with_objects(server, open_node)
        yield server


def with_objects(server: RunningServer, work: Callable[[WorldObjects], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Client(server.connection(ADMIN)) as client:
            await work(WorldObjects(client))

    asyncio.run(run())


def create(server: RunningServer, *items: Obj) -> None:
    async def work(objects: WorldObjects) -> None:
        for item in items:
            await objects.create(item)

    with_objects(server, work)


def lease(namespace: str, name: str, ago: timedelta) -> Obj:
    renewed = (datetime.now(UTC) - ago).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "it", "leaseDurationSeconds": 15, "renewTime": renewed}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"namespace": namespace, "name": name},
        "spec": spec,
    }


def dump(server: RunningServer, folder: Path) -> Path:
    async def read() -> list[bytes]:
        async with Client(server.connection(ADMIN)) as client:
            return [await client.request("GET", one.path("")) for one in (NODES, PODS, LEASES)]

    folder.mkdir()
    for number, content in enumerate(asyncio.run(read())):
        (folder / f"{number}.json").write_bytes(content)
    return folder


def both(server: RunningServer, folder: Path) -> Iterator[tuple[str, str, int]]:
    """State, first line and exit status: of the cluster, and of a dump of it."""
    for source in (("--kubeconfig", str(server.kubeconfig(ADMIN))), ("-f", str(dump(server, folder)))):
        result = CliRunner().invoke(cli, ["why", "pod/p", "-n", "default", "-o", "json", *source])
        assert result.stdout, result.output
        answer = json.loads(result.stdout)
        yield answer["state"], answer["summary"], result.exit_code


def test_no_scheduler_has_ever_run(sandbox: RunningServer, tmp_path: Path) -> None:
    for state, summary, status in both(sandbox, tmp_path / "dump"):
        assert (state, status) == ("Unattended", UNATTENDED)
        assert "its pods name scheduler maitred" in summary
        assert summary.endswith("(there is no Lease maitred)")


@pytest.mark.parametrize("namespace", [NAMESPACE, "kube-system"])
def test_the_scheduler_has_stopped(sandbox: RunningServer, tmp_path: Path, namespace: str) -> None:
    create(sandbox, lease(namespace, "maitred", LONG_AGO))
    for state, summary, status in both(sandbox, tmp_path / "dump"):
        assert (state, status) == ("Unattended", UNATTENDED)
        assert f"Lease {namespace}/maitred was last renewed at " in summary


def test_a_scheduler_runs(sandbox: RunningServer, tmp_path: Path) -> None:
    create(sandbox, lease(NAMESPACE, "maitred", timedelta()))
    for state, _, status in both(sandbox, tmp_path / "dump"):
        assert (state, status) == ("Starting", SEATED)
