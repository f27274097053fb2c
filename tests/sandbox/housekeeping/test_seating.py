"""Pods of the default scheduler on a server that we keep house for, from the Job to the last pod's end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from maitred.kube.client import Client
from maitred.kube.resources import NAMESPACES, PODS, STORAGE_CLASSES, VOLUME_CLAIMS, VOLUMES
from maitred.model.storage import NO_PROVISIONER
from maitred.sandbox.apiserver.users import ADMIN
from maitred.sandbox.controlplane.run import ControlPlane
from maitred.sandbox.housekeeping.controllers import housekeeping
from maitred.sandbox.housekeeping.objects import JOBS, POD_GROUPS
from maitred.sandbox.kubelets.bodies import Machine
from maitred.sandbox.kubelets.fleet import kubelets
from tests.sandbox.housekeeping.place import Json, Place, eventually, place

GROUP = {"schedulingPolicy": {"gang": {"minCount": 4}}}
CONTAINER = {"name": "c", "image": "pause", "resources": {"requests": {"cpu": "1"}}}


@asynccontextmanager
async def cluster(plane: ControlPlane, *cpus: int) -> AsyncIterator[Place]:
    machines = [Machine(f"n{number}", {"cpu": str(cpu)}) for number, cpu in enumerate(cpus)]
    async with (
        Client(plane.connection(ADMIN)) as client,
        housekeeping(client),
        kubelets(client, machines) as fleet,
    ):
        async with place(client) as here:
            yield here
        await here.until_gone(NAMESPACES, here.namespace)
        for machine in machines:
            await fleet.remove(machine.name)


def member(name: str) -> Json:
    spec = {"containers": [CONTAINER], "schedulingGroup": {"podGroupName": "crew"}}
    return {"metadata": {"name": name}, "spec": spec}


def test_a_gang_is_seated_in_part_where_nobody_knows_of_gangs(bare_plane: ControlPlane) -> None:
    async def play() -> None:
        async with cluster(bare_plane, 1, 2) as here:
            await here.create(POD_GROUPS, {"metadata": {"name": "crew"}, "spec": GROUP})
            names = [f"crew-{number}" for number in range(4)]
            for name in names[:3]:
                await here.create(PODS, member(name))
            for name in names[:3]:
                await here.until(PODS, name, lambda pod: pod["status"]["phase"] == "Running")
            # The last one comes to full nodes: seen in one cycle with the others, it would wait for them.
            await here.create(PODS, member(names[3]))
            left = await here.until(PODS, names[3], lambda pod: bool(pod["status"].get("conditions")))
            [told] = [c for c in left["status"]["conditions"] if c["type"] == "PodScheduled"]
            assert (told["status"], told["reason"]) == ("False", "Unschedulable")
            assert told["message"].startswith("Capacity: ")
            await here.delete(PODS, names[0])
            await here.until(PODS, names[3], lambda pod: pod["status"]["phase"] == "Running")

    asyncio.run(play())


def test_a_job_runs_to_its_end_and_leaves_nothing_behind(bare_plane: ControlPlane) -> None:
    async def play() -> None:
        async with cluster(bare_plane, 2) as here:
            template: Json = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
            template["metadata"] = {"annotations": {"maitred.dev/run-seconds": "0.1"}}
            spec = {"completions": 5, "parallelism": 3, "completionMode": "Indexed", "template": template}
            await here.create(JOBS, {"metadata": {"name": "five"}, "spec": spec})
            done = await here.until(JOBS, "five", lambda job: job["status"].get("succeeded") == 5)
            assert done["status"]["completedIndexes"] == "0-4"
            await here.delete(JOBS, "five", "Foreground")
            await here.until_gone(JOBS, "five")

            async def is_empty() -> bool:
                pods = await here.client.get(here.path(PODS), dict)
                groups = await here.client.get(here.path(POD_GROUPS), dict)
                return not (pods["items"] or groups["items"])

            await eventually(is_empty, lambda: "pods or groups are left")

    asyncio.run(play())


def test_a_volume_is_protected_while_it_is_used(bare_plane: ControlPlane) -> None:
    async def play() -> None:
        async with cluster(bare_plane, 2) as here:
            size = {"storage": "1Gi"}
            body = {"accessModes": ["ReadWriteOnce"], "storageClassName": here.namespace}
            volume = {**body, "capacity": size, "hostPath": {"path": "/none"}}
            await here.create(VOLUMES, {"metadata": {"name": here.namespace}, "spec": volume})
            claim = {**body, "resources": {"requests": size}}
            await here.create(VOLUME_CLAIMS, {"metadata": {"name": "data"}, "spec": claim})
            mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
            user = {"containers": [CONTAINER], "volumes": mounted}
            await here.create(PODS, {"metadata": {"name": "user"}, "spec": user})
            await here.until(PODS, "user", lambda pod: pod["status"]["phase"] == "Running")
            await here.delete(VOLUME_CLAIMS, "data")
            await here.until(VOLUME_CLAIMS, "data", lambda found: "deletionTimestamp" in found["metadata"])
            await here.delete(PODS, "user")
            await here.until_gone(VOLUME_CLAIMS, "data")
            await here.until(VOLUMES, here.namespace, lambda found: found["status"]["phase"] == "Released")
            await here.delete(VOLUMES, here.namespace)
            await here.until_gone(VOLUMES, here.namespace)

    asyncio.run(play())


def test_a_pod_follows_the_volume_that_its_claim_can_have(bare_plane: ControlPlane) -> None:
    async def play() -> None:
        async with cluster(bare_plane, 2, 2) as here:
            late = {"provisioner": NO_PROVISIONER, "volumeBindingMode": "WaitForFirstConsumer"}
            await here.create(STORAGE_CLASSES, {"metadata": {"name": here.namespace}, **late})
            size, name = {"storage": "1Gi"}, here.namespace
            body = {"accessModes": ["ReadWriteOnce"], "storageClassName": name}
            here_only = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}
            reach = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here_only]}]}}
            volume = {**body, "capacity": size, "local": {"path": "/none"}, "nodeAffinity": reach}
            await here.create(VOLUMES, {"metadata": {"name": name}, "spec": volume})
            await here.until(VOLUMES, name, lambda found: found["status"].get("phase") == "Available")
            claim = {**body, "resources": {"requests": size}}
            await here.create(VOLUME_CLAIMS, {"metadata": {"name": "data"}, "spec": claim})
            mounted = [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}]
            user = {"containers": [CONTAINER], "volumes": mounted}
            await here.create(PODS, {"metadata": {"name": "user"}, "spec": user})
            pod = await here.until(PODS, "user", lambda pod: pod["status"]["phase"] == "Running")
            assert pod["spec"]["nodeName"] == "n1"
            await here.delete(VOLUMES, name)
            await here.delete(STORAGE_CLASSES, name)

    asyncio.run(play())
