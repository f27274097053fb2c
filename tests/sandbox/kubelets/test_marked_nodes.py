"""Nodes by wish, on a real server: whoever writes a marked Node gets a machine that behaves as it is told."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from maitred.kube.client import MERGE_PATCH, STRATEGIC_MERGE_PATCH, Client, encode
from maitred.kube.resources import LEASES, NODES, PODS
from maitred.model.node import UNREACHABLE
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.bodies import readiness
from maitred.sandbox.kubelets.fleet import LEASE_NAMESPACE, Fleet, kubelets_of_marked_nodes
from maitred.sandbox.kubelets.marks import FAULT, KUBELET, SIMULATED
from tests.control_plane.cluster import Cluster, cluster

Json = dict[str, Any]

NAME = "wished-for"
NODE: Json = {
    "apiVersion": "v1",
    "kind": "Node",
    "metadata": {"name": NAME, "labels": {KUBELET: SIMULATED}},
    "status": {"capacity": {"cpu": "2", "memory": "4Gi"}},
}


def pod(name: str, cpu: str = "1", **marks: str) -> Json:
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": cpu}}}
    annotations = {f"maitred.dev/{mark.replace('_', '-')}": value for mark, value in marks.items()}
    return {
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"nodeName": NAME, "restartPolicy": "Never", "containers": [container]},
    }


def ready(node: Json) -> str:
    conditions = node["status"].get("conditions", ())
    return next((str(c["status"]) for c in conditions if c["type"] == "Ready"), "")


def taints(node: Json) -> set[str]:
    return {taint["key"] for taint in node["spec"].get("taints", ())}


async def put_fault(place: Cluster, fault: str | None) -> None:
    body = encode({"metadata": {"annotations": {FAULT: fault}}})
    await place.client.request("PATCH", NODES.path(name=NAME), body=body, content_type=MERGE_PATCH)


@asynccontextmanager
async def marked_node(plane: ControlPlane) -> AsyncIterator[tuple[Cluster, Callable[[], Any]]]:
    """A marked node without a kubelet, and what starts the kubelets."""

    @asynccontextmanager
    async def kubelets() -> AsyncIterator[Fleet]:
        async with Client(plane.connection(ADMIN)) as client, kubelets_of_marked_nodes(client) as fleet:
            yield fleet

    async with cluster(plane, ()) as place:
        await place.send("POST", NODES.path(), NODE)
        try:
            yield place, kubelets
        finally:
            await place.client.request("DELETE", NODES.path(name=NAME))


def on_marked_node(
    plane: ControlPlane, steps: Callable[[Cluster, Callable[[], Any]], Awaitable[None]]
) -> None:
    async def run() -> None:
        async with marked_node(plane) as (place, kubelets):
            await steps(place, kubelets)

    asyncio.run(run())


def test_a_node_that_is_written_is_made_ready_and_runs_pods(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster, kubelets: Callable[[], Any]) -> None:
        await place.create(pod("early"))
        async with kubelets():
            node = await place.node(NAME, lambda node: ready(node) == "True" and not taints(node))
            assert node["status"]["allocatable"] == {"cpu": "2", "memory": "4Gi", "pods": "110"}
            await place.phase("early", "Running")
            await place.create(pod("too-large", cpu="2"))
            status = await place.phase("too-large", "Failed")
            assert status["reason"] == "OutOfcpu"

    on_marked_node(control_plane, steps)


def test_a_fault_that_is_written_on_it_kills_it_until_it_is_taken_away(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster, kubelets: Callable[[], Any]) -> None:
        await put_fault(place, "power")
        async with kubelets():
            node = await place.node(
                NAME, lambda node: ready(node) == "Unknown" and UNREACHABLE in taints(node)
            )
            await put_fault(place, None)
            await place.node(NAME, lambda node: ready(node) == "True" and not taints(node))
            await place.create(pod("p"))
            await place.phase("p", "Running")
            await put_fault(place, "power again")
            node = await place.node(
                NAME, lambda node: ready(node) == "Unknown" and UNREACHABLE in taints(node)
            )
            assert node["metadata"]["annotations"][FAULT] == "power again"

    on_marked_node(control_plane, steps)


def test_a_node_that_is_deleted_and_written_again_is_another_machine(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster, kubelets: Callable[[], Any]) -> None:
        async with kubelets():
            first = await place.node(NAME, lambda node: ready(node) == "True")
            await place.becomes(LEASES.path(LEASE_NAMESPACE, NAME), lambda lease: True)
            await place.client.request("DELETE", NODES.path(name=NAME))
            await place.poll(LEASES.path(LEASE_NAMESPACE, NAME), lambda lease: lease is None)
            await place.send("POST", NODES.path(), NODE)
            second = await place.node(NAME, lambda node: ready(node) == "True" and not taints(node))
            assert first["metadata"]["uid"] != second["metadata"]["uid"]

    on_marked_node(control_plane, steps)


def test_a_node_that_was_given_up_while_everybody_slept_is_ready_again(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster, kubelets: Callable[[], Any]) -> None:
        async with kubelets():
            node = await place.node(NAME, lambda node: ready(node) == "True" and not taints(node))
            body = encode({"status": readiness(False)})
            path = NODES.path(name=NAME, subresource="status")
            await place.client.request("PATCH", path, body=body, content_type=STRATEGIC_MERGE_PATCH)
            version = int(node["metadata"]["resourceVersion"])
            await place.node(NAME, lambda node: is_after(node, version + 1) and ready(node) == "True")

    def is_after(node: Json, version: int) -> bool:
        return int(node["metadata"]["resourceVersion"]) > version

    on_marked_node(control_plane, steps)


def test_a_pod_ends_at_its_deadline_also_if_it_gets_one_as_it_runs(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster, kubelets: Callable[[], Any]) -> None:
        async with kubelets():
            late = pod("late")
            late["spec"]["activeDeadlineSeconds"] = 3600
            await place.create(late)
            await place.phase("late", "Running")
            body = encode({"spec": {"activeDeadlineSeconds": 1}})
            path = PODS.path(place.namespace, "late")
            await place.client.request("PATCH", path, body=body, content_type=MERGE_PATCH)
            status = await place.phase("late", "Failed")
            assert status["reason"] == "DeadlineExceeded"

    on_marked_node(control_plane, steps)


def test_pods_start_and_end_as_they_are_told(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster, kubelets: Callable[[], Any]) -> None:
        async with kubelets():
            await place.create(pod("fails", run_seconds="0.1", exit_code="3"))
            status = await place.phase("fails", "Failed")
            [ended] = status["containerStatuses"]
            assert ended["state"]["terminated"]["exitCode"] == 3
            await place.create(pod("slow", start_seconds="3600"))
            await place.create(pod("quick"))
            await place.phase("quick", "Running")
            await place.phase("slow", "Pending")

    on_marked_node(control_plane, steps)
