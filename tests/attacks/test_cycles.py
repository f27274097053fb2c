"""Attacks on the cycle: groups that take long to decide, and groups that all have to preempt."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from maitred.kube.errors import ApiError
from maitred.kube.resources import PODS
from tests.attacks.harness import GPU, NODES, Ground, Tenant
from tests.oracle.builders import gang
from tests.scenarios.api import eventually

Json = dict[str, Any]

GANGS, SHAPES = 30, 24
HOST = "kubernetes.io/hostname"
AT_ONCE = 20
FILLED = NODES - 8
"""Nodes that the tenant fills; the others are enough for an innocent gang."""


def hard_pod(mallory: Tenant, number: int, shape: int) -> Json:
    """One of a gang no two of which ask for the same. Five of them at a time must not share a node, and they
    may use four: nobody is ever seated, and no count of theirs shows it, so that it is searched for."""
    name = f"hard-{number}"
    labels = {"gang": name, "part": str(shape % 5)}
    near = {"labelSelector": {"matchLabels": labels}, "topologyKey": HOST}
    body = mallory.pod(
        f"{name}-{shape}",
        gpus=0,
        metadata={"labels": labels, "annotations": gang(name, SHAPES)},
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": HOST,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"gang": name}},
            }
        ],
        affinity={
            "podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]},
            **on_hosts([f"attack-{place:02}" for place in range(4)]),
        },
    )
    asked = {"cpu": f"{100 + 10 * shape + number}m"}
    body["spec"]["containers"][0]["resources"] = {"requests": asked, "limits": asked}
    return body


def on_hosts(hosts: list[str]) -> Json:
    term = {"matchExpressions": [{"key": HOST, "operator": "In", "values": hosts}]}
    required = {"nodeSelectorTerms": [term]}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}


async def create_all(tenant: Tenant, bodies: Iterable[Json]) -> None:
    turns = asyncio.Semaphore(AT_ONCE)

    async def create(body: Json) -> None:
        async with turns:
            await tenant.api.create(PODS, body)

    await asyncio.gather(*map(create, bodies))


def test_thirty_gangs_of_as_many_shapes_keep_nobody_else_waiting(ground: Ground) -> None:
    """One member of each comes and goes all the time, so that all are decided again and again."""

    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        every = [(number, shape) for number in range(GANGS) for shape in range(SHAPES)]
        await create_all(mallory, (hard_pod(mallory, *each) for each in every))

        async def stir() -> None:
            while True:
                for number in range(GANGS):
                    with suppress(ApiError):
                        await mallory.api.delete(PODS, f"hard-{number}-1")
                        await mallory.api.create(PODS, hard_pod(mallory, number, 1))

        stirring = asyncio.create_task(stir())
        try:
            await ground.seats_an_innocent_gang(mallory)
        finally:
            stirring.cancel()

    ground.run(attack)


def preempting_pod(mallory: Tenant, number: int, member: int, hosts: list[str]) -> Json:
    gpus = (1, 1, 2, 4)[number % 4]
    body = mallory.pod(
        f"urgent-{number}-{member}",
        gpus=gpus,
        metadata={"annotations": gang(f"urgent-{number}", 4)},
        priorityClassName="attack-high",
        affinity=on_hosts(hosts),
    )
    asked = {"cpu": f"{100 + number + 10 * (member % 2)}m", GPU: str(gpus)}
    body["spec"]["containers"][0]["resources"] = {"requests": asked, "limits": asked}
    return body


def test_groups_that_all_have_to_preempt_keep_nobody_else_waiting(ground: Ground) -> None:
    """A tenant fills most of the cluster with pods that matter little, and sends as many gangs that outrank
    them as it can. The innocent gang has the lowest rank of all, and eight nodes that nobody else wants."""

    async def attack(ground: Ground) -> None:
        mallory = await ground.tenant()
        hosts = [f"attack-{number:02}" for number in range(FILLED)]
        low = (
            mallory.pod(f"low-{host}-{place}", gpus=1, nodeName=host, priorityClassName="attack-low")
            for host in hosts
            for place in range(8)
        )
        await create_all(mallory, low)
        gangs = ((number, member) for number in range(2 * GANGS) for member in range(4))
        await create_all(mallory, (preempting_pod(mallory, *each, hosts) for each in gangs))
        await ground.seats_an_innocent_gang(mallory)
        await eventually(lambda: preempted(mallory))

    ground.run(attack)


async def preempted(mallory: Tenant) -> str:
    seated = [
        pod["metadata"]["name"]
        for pod in await mallory.api.list(PODS)
        if pod["metadata"]["name"].startswith("urgent-") and pod["spec"].get("nodeName")
    ]
    return "" if seated else "none of its gangs has taken a place"
