"""Devices that pods ask for by a plain resource, which a device class serves: the scheduler makes the claims.
Killed between any two writes nothing is left behind."""

from maitred.kube.resources import PODS
from tests.scenarios.api import Json, eventually
from tests.scenarios.devices import CLAIMS, all_is_free, device_class, gpu, slice_of, users
from tests.scenarios.objects import members, nodes
from tests.scenarios.on_devices import FIRST, SECOND, leave, on_devices
from tests.scenarios.server import Server
from tests.scenarios.stage import Stage
from tests.scenarios.steps import Bound, Create, Exist, NotBound, Told
from tests.scenarios.test_crashes import crash

GPU = "example.com/gpu"
PLAIN: Json = {
    "containers": [{"name": "main", "image": "none", "resources": {"limits": {"cpu": "1", GPU: "1"}}}]
}
SERVED = [device_class("gpu", extendedResourceName=GPU), *(slice_of(name, [gpu(0)]) for name in ("n0", "n1"))]
ASKING = members(FIRST, 2, spec=PLAIN)
WRITES = 2 * 4
"""For each member: its claim is made, allocated, and named in the pod; then the bind."""


async def have_claims(stage: Stage) -> None:
    """Each member has a device of its node, by a claim of its own that its status names."""
    pods = {pod["metadata"]["name"]: pod for pod in await stage.api.list(PODS)}
    claims = {claim["metadata"]["name"]: claim for claim in await stage.api.list(CLAIMS)}
    named = {name: pods[name]["status"]["extendedResourceClaimStatus"] for name in ASKING.names}
    assert claims.keys() == {one["resourceClaimName"] for one in named.values()}
    for name, said in named.items():
        [mapping] = said["requestMappings"]
        [result] = claims[said["resourceClaimName"]]["status"]["allocation"]["devices"]["results"]
        assert (mapping["resourceName"], mapping["containerName"]) == (GPU, "main")
        assert mapping["requestName"] == result["request"]
        assert result["pool"] == pods[name]["spec"]["nodeName"]
    assert await users(stage) == {f"{pods[name]['spec']['nodeName']}/gpu-0": [name] for name in ASKING.names}


def test_pods_that_ask_for_a_resource_get_claims_that_go_with_them(server: Server) -> None:
    """Their gang is killed between any two writes, and the last time deleted before anyone comes back."""

    async def act(stage: Stage) -> None:
        await stage.stop()
        await stage.play(Create(FIRST))
        for write in range(1, WRITES + 1):
            await stage.play(Create(ASKING), Exist(ASKING))
            await crash(stage, write, executed=True)
            stage.start()
            await stage.play(Bound(ASKING))
            await have_claims(stage)
            await stage.check_laws()
            await stage.stop()
            await leave_nothing(stage)
        await stage.play(Create(ASKING), Exist(ASKING))
        await crash(stage, WRITES // 2, executed=True)
        await leave_nothing(stage)

    on_devices(server, nodes(2), SERVED, act)


async def leave_nothing(stage: Stage) -> None:
    """Though no scheduler is there."""
    await leave(stage, ASKING)
    await all_is_free(stage)
    await eventually(lambda: claims_left(stage))


async def claims_left(stage: Stage) -> str:
    return ", ".join(claim["metadata"]["name"] for claim in await stage.api.list(CLAIMS))


def test_a_gang_that_asks_for_a_resource_waits_whole_until_it_is_free(server: Server) -> None:
    waiting = members(SECOND, 2, spec=PLAIN)

    async def act(stage: Stage) -> None:
        await stage.play(Create(FIRST, ASKING), Bound(ASKING))
        await stage.play(Create(SECOND, waiting), Told(waiting, "Waiting: "), NotBound(waiting))
        await have_claims(stage)
        await leave(stage, ASKING)
        await stage.play(Bound(waiting))

    on_devices(server, nodes(2), SERVED, act)
