"""A gang that fits only if a choice for its first member is taken back. kube-scheduler goes from pod to pod,
and leaves it pending."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from maitred.kube.resources import Resource
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.bodies import Machine
from tests.control_plane.cluster import Cluster, cluster
from tests.control_plane.seating import scheduler

Obj = dict[str, Any]

EXAMPLE = Path(__file__).parents[2] / "examples" / "devices" / "backtracking"
MACHINE = Machine("n1", {"cpu": "16", "memory": "64Gi"}, {"kubernetes.io/hostname": "n1"})
SHARED = {
    "DeviceClass": Resource("resource.k8s.io", "v1", "deviceclasses", "DeviceClass", namespaced=False),
    "ResourceSlice": Resource("resource.k8s.io", "v1", "resourceslices", "ResourceSlice", namespaced=False),
}
NAMESPACED = {
    "ResourceClaimTemplate": Resource(
        "resource.k8s.io", "v1", "resourceclaimtemplates", "ResourceClaimTemplate"
    ),
    "PodGroup": Resource("scheduling.k8s.io", "v1beta1", "podgroups", "PodGroup"),
    "Pod": Resource("", "v1", "pods", "Pod"),
}
CLAIMS = Resource("resource.k8s.io", "v1", "resourceclaims", "ResourceClaim")
PODS = ("crew-0", "crew-1")


def example(name: str) -> list[Obj]:
    found = list[Obj]()
    for item in yaml.safe_load_all((EXAMPLE / name).read_text()):
        found += item["items"] if item["kind"] == "List" else [item]
    return found


@asynccontextmanager
async def card(plane: ControlPlane) -> AsyncIterator[Cluster]:
    """The cluster of the example on the real server, with a kubelet for its node."""
    items = [item for item in example("cluster.yaml") if item["kind"] in SHARED]
    async with cluster(plane, [MACHINE]) as place:
        try:
            for item in items:
                await place.send("POST", SHARED[item["kind"]].path(), item)
            yield place
        finally:
            for item in items:
                await place.send("DELETE", SHARED[item["kind"]].path(name=item["metadata"]["name"]))


async def submit(place: Cluster, items: list[Obj]) -> None:
    for item in items:
        await place.send("POST", NAMESPACED[item["kind"]].path(place.namespace), item)


def verdict(group: Obj) -> Obj | None:
    """What kube-scheduler has said of it."""
    for condition in group.get("status", {}).get("conditions", ()):
        if condition["type"] == "PodGroupInitiallyScheduled":
            return dict(condition)
    return None


def seated(plane: ControlPlane, items: list[Obj]) -> tuple[str, list[str | None]]:
    """What kube-scheduler says of the gang, and where it puts the two pods."""

    async def play() -> tuple[str, list[str | None]]:
        async with card(plane) as place:
            with plane.kube_scheduler():
                await submit(place, items)
                path = NAMESPACED["PodGroup"].path(place.namespace, "crew")
                said = verdict(await place.becomes(path, lambda group: verdict(group) is not None))
                assert said is not None
                bound = said["status"] == "True"
                pods = [
                    await place.pod(name, lambda pod: not bound or "nodeName" in pod["spec"]) for name in PODS
                ]
                return said["message"], [pod["spec"].get("nodeName") for pod in pods]

    return asyncio.run(play())


@pytest.fixture
def groups(control_plane: ControlPlane) -> ControlPlane:
    if control_plane.release.name != "1.37.1" or not control_plane.workload_gates:
        pytest.skip("the example is written for the group API of 1.37")
    return control_plane


def test_maitred_gives_each_member_a_half(groups: ControlPlane) -> None:
    items = example("crew.yaml")
    for item in items:
        if item["kind"] == "Pod":
            item["spec"] = {**item["spec"], "schedulerName": "maitred"}

    async def play() -> list[tuple[str, str]]:
        async with card(groups) as place, scheduler(groups):
            await submit(place, items)
            return [await half(place, name) for name in PODS]

    assert sorted(asyncio.run(play())) == [("n1", "half-0"), ("n1", "half-1")]


async def half(place: Cluster, name: str) -> tuple[str, str]:
    """The node of a pod, and the device that its claim has got."""
    pod = await place.pod(name, lambda pod: "nodeName" in pod["spec"])
    [use] = pod["status"]["resourceClaimStatuses"]
    claim = await place.get(CLAIMS.path(place.namespace, use["resourceClaimName"]))
    assert claim is not None
    [result] = claim["status"]["allocation"]["devices"]["results"]
    return pod["spec"]["nodeName"], result["device"]


def test_kube_scheduler_leaves_a_gang_pending_that_fits_in_another_order(groups: ControlPlane) -> None:
    said, nodes = seated(groups, example("crew.yaml"))
    assert nodes == [None, None]
    assert "minCount (2) cannot be satisfied: 1 scheduled, 0 remaining" in said


def test_kube_scheduler_places_the_same_gang_without_the_choice(groups: ControlPlane) -> None:
    items = example("crew.yaml")
    [asked] = items[0]["spec"]["spec"]["devices"]["requests"]
    del asked["firstAvailable"][0]
    assert seated(groups, items)[1] == ["n1", "n1"]
