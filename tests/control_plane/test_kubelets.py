"""The simulated kubelets on a real API server."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from maitred.kube.resources import LEASES, NODES
from maitred.model.node import UNREACHABLE, Taint
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.fleet import LEASE_NAMESPACE, kubelets
from tests.control_plane.cluster import Cluster, cluster

Json = dict[str, Any]

GPU = "nvidia.com/gpu"


def machine(name: str = "n1", **more: Any) -> Machine:
    return Machine(name, {"cpu": "8", "memory": "32Gi", GPU: "2"}, **more)


def pod(name: str, gpus: int = 0, spec: Json | None = None, **metadata: Any) -> Json:
    resources = {"limits": {GPU: str(gpus)}} if gpus else {}
    container = {"name": "main", "image": "none", "resources": resources}
    return {"metadata": {"name": name, **metadata}, "spec": {"containers": [container], **(spec or {})}}


def on(node: str, **more: Any) -> Json:
    return {"nodeName": node, **more}


def on_cluster(
    plane: ControlPlane, *machines: Machine, then: Callable[[Cluster], Awaitable[None]], beat: float = 10
) -> None:
    async def run() -> None:
        async with cluster(plane, machines, heartbeat_seconds=beat) as place:
            await then(place)

    asyncio.run(run())


def conditions(thing: Json) -> dict[str, str]:
    return {condition["type"]: condition["status"] for condition in thing["status"]["conditions"]}


def taints(node: Json) -> set[tuple[str, str]]:
    return {(taint["key"], taint["effect"]) for taint in node["spec"].get("taints", ())}


def test_a_pod_that_is_bound_by_hand_runs_and_is_gone_when_it_is_deleted(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        await place.create(pod("p"))
        await place.bind("p", "n1")
        status = await place.phase("p", "Running")
        expected = {"PodScheduled", "Initialized", "ContainersReady", "Ready"}
        assert expected <= {kind for kind, state in conditions({"status": status}).items() if state == "True"}
        assert status["podIP"]
        assert status["startTime"]
        await place.delete("p")
        await place.is_gone("p")

    on_cluster(control_plane, machine(), then=steps)


@pytest.mark.parametrize("place_of_mark", ["labels", "annotations"])
def test_a_pod_ends_by_itself_and_leaves_its_room(control_plane: ControlPlane, place_of_mark: str) -> None:
    async def steps(place: Cluster) -> None:
        short = {place_of_mark: {"maitred.dev/run-seconds": "0.1"}}
        await place.create(pod("short", 2, on("n1"), **short))
        await place.phase("short", "Succeeded")
        await place.create(pod("next", 2, on("n1")))
        await place.phase("next", "Running")

    on_cluster(control_plane, machine(), then=steps)


def test_overcommit_is_refused_until_there_is_room(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        await place.create(pod("first", 2, on("n1")))
        await place.phase("first", "Running")
        await place.create(pod("second", 1, on("n1")))
        status = await place.phase("second", "Failed")
        assert status["reason"] == f"OutOf{GPU}"
        numbers = "requested: 1, used: 2, capacity: 2"
        assert status["message"] == f"Pod was rejected: Node didn't have enough resource: {GPU}, {numbers}"
        await place.delete("first")
        await place.is_gone("first")
        await place.create(pod("third", 2, on("n1")))
        await place.phase("third", "Running")

    on_cluster(control_plane, machine(), then=steps)


def test_a_node_refuses_what_is_not_meant_for_it(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        await place.create(pod("lost", spec=on("n1", nodeSelector={"zone": "b"})))
        status = await place.phase("lost", "Failed")
        assert status["reason"] == "NodeAffinity"
        await place.create(pod("guest", spec=on("n1", nodeSelector={"zone": "a"})))
        await place.phase("guest", "Running")

    busy = (Taint("busy", "NoSchedule"),)
    on_cluster(control_plane, machine(labels={"zone": "a"}, taints=busy), then=steps)


def test_a_node_minds_what_others_change_of_it(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        await asyncio.to_thread(control_plane.kubectl, "label", "node", "n1", "zone=b")
        await place.create(pod("p", spec=on("n1", nodeSelector={"zone": "b"})))
        await place.phase("p", "Running")

    on_cluster(control_plane, machine(), then=steps)


def test_a_lost_node_does_nothing_until_it_is_back(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        await place.create(pod("old", spec=on("n1")))
        await place.phase("old", "Running")
        await place.fleet.fail("n1")
        node = await place.node("n1", lambda node: conditions(node)["Ready"] == "Unknown")
        assert {(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")} <= taints(node)
        await place.delete("old")
        await place.create(pod("new", spec=on("n1")))
        await place.create(pod("elsewhere", spec=on("n2")))
        await place.phase("elsewhere", "Running")
        await place.phase("new", "Pending")
        await place.phase("old", "Running")
        await place.fleet.heal("n1")
        await place.is_gone("old")
        await place.phase("new", "Running")
        await place.node("n1", lambda node: conditions(node)["Ready"] == "True" and not taints(node))

    on_cluster(control_plane, machine("n1"), machine("n2"), then=steps)


def test_nodes_come_and_go(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        await place.create(pod("early", spec=on("late")))
        await place.fleet.add(machine("late"))
        await place.phase("early", "Running")
        await place.fleet.remove("late")
        assert await place.get(NODES.path(name="late")) is None

    on_cluster(control_plane, then=steps)


def test_hearts_beat(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        path = LEASES.path(LEASE_NAMESPACE, "n1")
        first = await place.becomes(path, lambda lease: True)
        await place.becomes(path, lambda lease: lease["spec"]["renewTime"] > first["spec"]["renewTime"])

    on_cluster(control_plane, machine(), then=steps, beat=0.2)


def test_a_restart_of_the_server_stops_no_kubelet(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        await place.create(pod("before", spec=on("n1")))
        await place.phase("before", "Running")
        await asyncio.to_thread(control_plane.apiserver.stop)
        control_plane.apiserver.start()
        await asyncio.to_thread(control_plane.wait_ready)
        await place.create(pod("after", spec=on("n1")))
        await place.phase("after", "Running")
        await place.delete("before")
        await place.is_gone("before")

    on_cluster(control_plane, machine(), then=steps)


def test_kubelets_that_start_over_keep_what_runs(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        await place.create(pod("z-old", 2, on("n1")))
        await place.phase("z-old", "Running")
        await place.fleet.fail("n1")
        await place.create(pod("a-new", 1, on("n1")))
        async with kubelets(place.client, [machine("n1")]):
            assert (await place.phase("a-new", "Failed"))["reason"] == f"OutOf{GPU}"
            await place.phase("z-old", "Running")

    on_cluster(control_plane, machine(), then=steps)


def test_a_job_runs_to_its_end(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        template = pod("", spec=on("n1", restartPolicy="Never"))
        template["metadata"] = {"annotations": {"maitred.dev/run-seconds": "0.1"}}
        job = {"metadata": {"name": "j"}, "spec": {"completions": 2, "parallelism": 1, "template": template}}
        jobs = f"/apis/batch/v1/namespaces/{place.namespace}/jobs"
        await place.send("POST", jobs, job)
        await place.becomes(f"{jobs}/j", lambda job: job["status"].get("succeeded") == 2)

    on_cluster(control_plane, machine(), then=steps)


def test_what_goes_wrong_in_the_block_is_raised_as_it_is(control_plane: ControlPlane) -> None:
    async def steps(place: Cluster) -> None:
        raise ValueError("not wrapped in a group")

    with pytest.raises(ValueError, match="not wrapped in a group"):
        on_cluster(control_plane, machine(), then=steps)
