"""Claims that wait for their first consumer get their volumes, whether those exist or are yet to be made."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from maitred.kube.errors import ApiError
from maitred.kube.resources import STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from maitred.model.storage import SELECTED_NODE
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.kubelets.bodies import Machine
from tests.control_plane.cluster import Cluster, cluster
from tests.control_plane.seating import member, scheduler

Json = dict[str, Any]

MACHINES = [
    Machine(name, {"cpu": "4", "memory": "8Gi"}, {"kubernetes.io/hostname": name}) for name in ("n1", "n2")
]
CLASS = "scratch"
MODES = ["ReadWriteOnce"]
SIZE = {"storage": "1Gi"}


def on_node(name: str) -> Json:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": [name]}
    return {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}


def volume(name: str, node: str, **spec: Any) -> Json:
    body = {"capacity": SIZE, "accessModes": MODES, "storageClassName": CLASS, "nodeAffinity": on_node(node)}
    return {"metadata": {"name": name}, "spec": {**body, "local": {"path": "/none"}, **spec}}


def claim(name: str) -> Json:
    spec = {"accessModes": MODES, "storageClassName": CLASS, "resources": {"requests": SIZE}}
    return {"metadata": {"name": name}, "spec": spec}


def user(name: str, of: str) -> Json:
    volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": of}}]
    return member(name, "crew", 2, {"volumes": volumes})


@asynccontextmanager
async def storage_class(place: Cluster, provisioner: str) -> AsyncIterator[None]:
    body = {
        "metadata": {"name": CLASS},
        "provisioner": provisioner,
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    await place.send("POST", STORAGE_CLASSES.path(), body)
    try:
        yield
    finally:
        await place.send("DELETE", STORAGE_CLASSES.path(name=CLASS))
        for name in ("v1", "v2", "v3"):
            await vanish(place, VOLUMES.path(name=name))


async def vanish(place: Cluster, path: str) -> None:
    """Volumes are protected for as long as a claim is."""
    try:
        await place.client.request("DELETE", path)
        patch = b'{"metadata":{"finalizers":null}}'
        await place.client.request("PATCH", path, body=patch, content_type="application/merge-patch+json")
    except ApiError as error:
        if not error.is_gone:
            raise


async def seated(place: Cluster) -> dict[str, str]:
    pods = {name: await place.pod(name, lambda pod: "nodeName" in pod["spec"]) for name in ("a", "b")}
    return {name: pod["spec"]["nodeName"] for name, pod in pods.items()}


def with_scheduler(
    plane: ControlPlane, provisioner: str, story: Callable[[Cluster], Awaitable[None]]
) -> None:
    async def run() -> None:
        async with (
            cluster(plane, MACHINES) as place,
            storage_class(place, provisioner),
            scheduler(plane),
        ):
            await story(place)

    asyncio.run(run())


def test_a_volume_that_exists_is_kept_for_the_claim_that_can_have_no_other(
    control_plane: ControlPlane,
) -> None:
    async def story(place: Cluster) -> None:
        for name, node in (("v1", "n1"), ("v2", "n2")):
            await place.send("POST", VOLUMES.path(), volume(name, node))
        for name in ("a", "b"):
            await place.send("POST", VOLUME_CLAIMS.path(place.namespace), claim(name))
            await place.create(user(name, name))
        nodes = await seated(place)
        assert sorted(nodes.values()) == ["n1", "n2"]
        for name, node in nodes.items():
            path = VOLUME_CLAIMS.path(place.namespace, name)
            found = await place.becomes(path, lambda found: found["status"]["phase"] == "Bound")
            assert found["spec"]["volumeName"] == {"n1": "v1", "n2": "v2"}[node]

    with_scheduler(control_plane, "kubernetes.io/no-provisioner", story)


def test_a_volume_is_made_for_the_node_before_the_pod_is_sent_there(control_plane: ControlPlane) -> None:
    async def provision(place: Cluster, name: str, volume_name: str) -> None:
        """What a provisioner does: it waits for the node, and makes a volume there for the claim."""
        path = VOLUME_CLAIMS.path(place.namespace, name)
        found = await place.becomes(path, lambda f: SELECTED_NODE in f["metadata"].get("annotations", {}))
        pod = await place.get(f"/api/v1/namespaces/{place.namespace}/pods/{name}")
        assert pod is not None
        assert "nodeName" not in pod["spec"], "it was sent before its volume was there"
        reference = {"namespace": place.namespace, "name": name, "uid": found["metadata"]["uid"]}
        node = found["metadata"]["annotations"][SELECTED_NODE]
        await place.send("POST", VOLUMES.path(), volume(volume_name, node, claimRef=reference))

    async def story(place: Cluster) -> None:
        for name in ("a", "b"):
            await place.send("POST", VOLUME_CLAIMS.path(place.namespace), claim(name))
            await place.create(user(name, name))
        await asyncio.gather(provision(place, "a", "v1"), provision(place, "b", "v2"))
        nodes = await seated(place)
        for name, node in nodes.items():
            bound = await place.get(VOLUME_CLAIMS.path(place.namespace, name))
            assert bound is not None
            assert bound["metadata"]["annotations"][SELECTED_NODE] == node

    with_scheduler(control_plane, "example.com/disks", story)
