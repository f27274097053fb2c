"""A gang with devices: a claim for each member and one that they share. Law 10 holds for claims too: killed
between any two writes nothing is left behind, and everything ends up whole."""

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.scenarios.api import Json, eventually
from tests.scenarios.devices import (
    CLAIMS,
    DRIVER,
    OWN,
    SHARED,
    all_is_free,
    claims_are_made,
    declare,
    equipped,
    gpus_and_a_switch,
    have_devices,
    users,
    with_claims,
)
from tests.scenarios.faults import Interlude
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.objects import Group, Job, nodes
from tests.scenarios.preempting import NotSuspended, Suspended
from tests.scenarios.preemption import CLASSES, HIGH, LOW, ranked
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Exist, Gone, group_condition
from tests.scenarios.test_crashes import crash

READY, BROKEN = "example.com/ready", "example.com/broken"
SIZE = 4
GANG = Group("gang", quorum=SIZE)
WHO = with_claims(GANG, SIZE)
SCENARIO = Scenario("a gang with devices", nodes(SIZE), (), settings=ONE_BY_ONE)
WRITES = 2 * (SIZE + 1) + SIZE
"""Two for every claim, and the binds."""


def on_stage(server: Server, act: Callable[[Stage], Awaitable[None]], **devices: Any) -> None:
    async def on_it(stage: Stage) -> None:
        if stage.served.groups is None:
            pytest.skip("only PodGroups have claims that their members share")
        async with equipped(stage, gpus_and_a_switch(stage, **devices)):
            await act(stage)
            await stage.stop()
            await stage.play(Delete(WHO), Gone(WHO), Delete(GANG))
            await all_is_free(stage)

    play(server, SCENARIO, on_it)


async def submit(stage: Stage) -> None:
    await declare(stage, GANG)
    await stage.play(Create(WHO), Exist(WHO))
    await claims_are_made(stage, WHO)


def test_a_gang_gets_a_device_each_and_one_together_and_leaves_nothing(server: Server) -> None:
    """The claims come from templates, a moment after the pods. Its PodGroup stays when its pods are gone."""

    async def act(stage: Stage) -> None:
        stage.start()
        await submit(stage)
        await stage.play(Bound(WHO))
        await have_devices(stage, GANG, WHO)
        await stage.check_laws()
        await stage.play(Delete(WHO), Gone(WHO))
        await all_is_free(stage)
        await stage.play(Create(WHO), Bound(WHO))
        await have_devices(stage, GANG, WHO)

    on_stage(server, act)


def test_killed_between_any_two_writes(server: Server) -> None:
    async def act(stage: Stage) -> None:
        await declare(stage, GANG)
        for write in range(1, WRITES + 1):
            await stage.play(Create(WHO), Exist(WHO))
            await claims_are_made(stage, WHO)
            await crash(stage, write, executed=True)
            stage.start()
            await stage.play(Bound(WHO))
            await have_devices(stage, GANG, WHO)
            await stage.check_laws()
            await stage.play(Delete(WHO), Gone(WHO))
            await all_is_free(stage)
            await stage.stop()

    on_stage(server, act)


@pytest.mark.parametrize("write", [1, 3, WRITES - SIZE])
def test_killed_and_its_gang_deleted_before_the_next_scheduler_comes(server: Server, write: int) -> None:
    async def act(stage: Stage) -> None:
        await submit(stage)
        await crash(stage, write, executed=True)
        await stage.play(Delete(WHO), Gone(WHO))
        stage.start()
        await all_is_free(stage)

    on_stage(server, act)


def test_another_schedulers_allocation_wins_and_the_gang_is_decided_anew(server: Server) -> None:
    """It is written a moment before ours would be."""

    async def act(stage: Stage) -> None:
        async def other() -> None:
            [claim] = [
                one
                for one in await stage.api.list(CLAIMS)
                if one["metadata"]["ownerReferences"][0]["name"] == WHO.names[0]
            ]
            result = {"request": "one", "driver": DRIVER, "pool": "n3", "device": "gpu-0"}
            fields = [{"key": "metadata.name", "operator": "In", "values": ["n3"]}]
            allocation = {
                "devices": {"results": [result]},
                "nodeSelector": {"nodeSelectorTerms": [{"matchFields": fields}]},
            }
            await stage.api.patch_status(CLAIMS, claim["metadata"]["name"], {"allocation": allocation})

        await submit(stage)
        stage.start(trouble=Interlude(1, "status", other))
        await stage.play(Bound(WHO))
        await have_devices(stage, GANG, WHO)
        [first] = stage.pods([WHO.names[0]])
        assert first.spec.node_name == "n3"

    on_stage(server, act)


LESSER = Group("lesser", quorum=SIZE, rank=LOW.name)
JOB = Job("lesser", SIZE, LESSER, spec=ranked(LOW, resourceClaims=[OWN, SHARED]))
GREATER = Group(GANG.name, quorum=SIZE, rank=HIGH.name)
RANKED = with_claims(GREATER, SIZE, **ranked(HIGH))


def test_a_gang_that_makes_room_gives_back_what_its_group_has_and_gets_it_again(server: Server) -> None:
    """Its Job is suspended, and its PodGroup stays. There is one switch, so without it nobody starts."""

    async def act(stage: Stage) -> None:
        stage.start()
        await stage.play(CLASSES)
        await declare(stage, LESSER)
        await stage.play(Create(JOB), Bound(JOB))
        assert (await users(stage))["fabric/switch-0"] == [LESSER.name]
        await declare(stage, GREATER)
        await stage.play(Create(RANKED), Suspended(JOB), Bound(RANKED))
        await have_devices(stage, GREATER, RANKED)
        await stage.play(Delete(RANKED), Gone(RANKED), NotSuspended(JOB), Bound(JOB))
        assert (await users(stage))["fabric/switch-0"] == [LESSER.name]
        await stage.play(Delete(JOB), Gone(JOB), Delete(LESSER))

    on_stage(server, act)


def test_a_gang_waits_for_devices_to_be_made_ready_and_gives_them_back_if_one_fails(server: Server) -> None:
    async def act(stage: Stage) -> None:
        stage.start()
        await submit(stage)
        await eventually(lambda: too_few(stage))
        *others, last = await unsaid(stage)
        for claim in others:
            await say(stage, claim, READY)
        assert not [pod for pod in stage.pods(WHO.names) if pod.spec.node_name]
        await say(stage, last, BROKEN)
        await eventually(lambda: untold(stage))
        assert not [pod for pod in stage.pods(WHO.names) if pod.spec.node_name]
        await eventually(lambda: too_few(stage))
        for claim in await unsaid(stage):
            await say(stage, claim, READY)
        await stage.play(Bound(WHO))
        await have_devices(stage, GANG, WHO)

    on_stage(server, act, bindingConditions=[READY], bindingFailureConditions=[BROKEN])


async def unsaid(stage: Stage) -> list[Json]:
    """Claims for GPUs that are allocated, and of which no driver has said anything."""
    return [
        claim
        for claim in await stage.api.list(CLAIMS)
        if "allocation" in claim.get("status", {})
        and "devices" not in claim["status"]
        and claim["status"]["allocation"]["devices"]["results"][0]["device"].startswith("gpu")
    ]


async def too_few(stage: Stage) -> str:
    found = len(await unsaid(stage))
    return f"{found} devices wait to be made ready" if found < SIZE else ""


async def say(stage: Stage, claim: Json, condition: str) -> None:
    """As the driver says it."""
    [result] = claim["status"]["allocation"]["devices"]["results"]
    about = {key: result[key] for key in ("driver", "pool", "device")}
    said = {
        "type": condition,
        "status": "True",
        "reason": "Attached",
        "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
    }
    devices = {"devices": [{**about, "conditions": [said]}]}
    await stage.api.patch_status(CLAIMS, claim["metadata"]["name"], devices)


async def untold(stage: Stage) -> str:
    told = await group_condition(stage, GANG.name)
    is_told = "failed: example.com/broken (Attached)" in told.get("message", "")
    return "" if is_told and told["message"].startswith("Waiting: Devices: claim ") else str(told)
