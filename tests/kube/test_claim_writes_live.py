"""What the stub of the other tests takes for granted of resource claims, on the real server."""

import msgspec
import pytest

from maitred.kube.claim_writes import ClaimWriter
from maitred.kube.outcomes import Done, RefusalReason, Refused
from maitred.kube.resources import PODS, resource_of
from maitred.kube.wire import WatchedClaim
from maitred.model.devices.claims import FINALIZER, ResourceClaim, made_claim_name
from maitred.model.plan import ClaimAllocation, ClaimToMake
from maitred.sandbox.controlplane.run import ControlPlane
from tests.kube.test_writes_live import Bench, Object, live

pytestmark = [pytest.mark.control_plane, pytest.mark.xdist_group("control-plane")]

CLAIMS = resource_of(ResourceClaim)
REQUEST = "container-0-request-0"
EXACTLY = {"deviceClassName": "gpu.example.com", "allocationMode": "ExactCount", "count": 1}
SPEC: Object = {"devices": {"requests": [{"name": REQUEST, "exactly": EXACTLY}]}}
MAPPING = {"containerName": "c", "resourceName": "example.com/gpu", "requestName": REQUEST}
GPU = {"limits": {"example.com/gpu": "1"}, "requests": {"example.com/gpu": "1"}}


def devices(name: str) -> Object:
    result = {"request": REQUEST, "driver": "gpu.example.com", "pool": "n1", "device": name}
    return {"devices": {"results": [result]}}


def user(pod: str, uid: str) -> Object:
    return {"resource": "pods", "name": pod, "uid": uid}


async def claim(bench: Bench, name: str) -> WatchedClaim:
    body = {"metadata": {"name": name}, "spec": SPEC}
    return msgspec.convert(await bench.send("POST", CLAIMS.path(bench.namespace), body), WatchedClaim)


async def status(bench: Bench, name: str) -> Object:
    found = await bench.send("GET", CLAIMS.path(bench.namespace, name))
    return {**found.get("status", {}), "finalizers": found["metadata"].get("finalizers", [])}


def test_a_claim_is_allocated_shared_and_freed(control_plane: ControlPlane) -> None:
    async def work(bench: Bench) -> None:
        writer, key = ClaimWriter(bench.writer, CLAIMS, "maitred"), f"{bench.namespace}/c"
        known = await claim(bench, "c")
        a, b = await bench.pod("a"), await bench.pod("b")
        for pod, uid in (("a", a), ("b", b)):  # the second with a copy that is old by then
            wanted = ClaimAllocation(key, devices("gpu-0"), (user(pod, uid),))
            assert isinstance(await writer.allocate(wanted, known), WatchedClaim)
        late = await writer.allocate(ClaimAllocation(key, devices("gpu-1"), (user("b", b),)), known)
        assert isinstance(late, Refused)
        assert late.why is RefusalReason.TAKEN
        assert await writer.release(key, known.metadata.uid, (a,)) == Done()
        shared = await status(bench, "c")
        assert [one["name"] for one in shared["reservedFor"]] == ["b"]
        assert shared["allocation"]["devices"] == devices("gpu-0")["devices"]
        assert shared["finalizers"] == [FINALIZER]
        assert await writer.release(key, known.metadata.uid, (b,)) == Done()
        assert await status(bench, "c") == {"finalizers": []}

    live(control_plane, work)


def test_a_claim_is_made_for_a_pod_named_in_its_status_and_removed(control_plane: ControlPlane) -> None:
    async def work(bench: Bench) -> None:
        writer, name = ClaimWriter(bench.writer, CLAIMS, "maitred"), made_claim_name("p")
        containers = [{"name": "c", "image": "none", "resources": GPU}]
        uid = await bench.pod("p", containers=containers)
        making = ClaimToMake(f"{bench.namespace}/p", SPEC, (MAPPING,))
        key = f"{bench.namespace}/{name}"
        wanted = ClaimAllocation(key, devices("gpu-0"), (user("p", uid),), making)
        made = await writer.make(wanted, uid)
        assert isinstance(made, WatchedClaim), made
        assert await writer.make(wanted, uid) == made, "it is there already"
        assert isinstance(await writer.allocate(wanted, made), WatchedClaim)
        assert await bench.writer.name_claim(bench.namespace, "p", uid, name, (MAPPING,)) == Done()
        named = (await bench.read("p"))["status"]["extendedResourceClaimStatus"]
        assert named == {"resourceClaimName": name, "requestMappings": [MAPPING]}
        assert await writer.remove(key, made.metadata.uid, (uid,)) == Done()
        left = await bench.send("GET", CLAIMS.path(bench.namespace))
        assert left["items"] == []
        assert await writer.remove(key, made.metadata.uid, (uid,)) == Done(), "nothing is left to do"
        await bench.send("DELETE", PODS.path(bench.namespace, "p"))

    live(control_plane, work)
