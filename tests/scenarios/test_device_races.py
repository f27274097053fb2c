"""Another scheduler gives away the same devices at the same time. A server does not compare claims, so both
succeed. In the end nobody of ours waits for a device that another pod has, and no gang is split."""

from collections.abc import Iterable

import pytest

from maitred.kube.resources import PODS
from maitred.model.devices.claims import FINALIZER
from tests.scenarios.api import Json, eventually
from tests.scenarios.conftest import REAL
from tests.scenarios.devices import (
    CLAIMS,
    DRIVER,
    OWN,
    all_is_free,
    asks_for,
    device_class,
    equipped,
    gpu,
    results,
    slice_of,
    template,
    users,
)
from tests.scenarios.faults import Interlude
from tests.scenarios.objects import Group, Job, Pods, members, nodes
from tests.scenarios.on_devices import FIRST, on_devices
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Gone, NotBound, Running, Told

CREW = {"resourceClaims": [OWN]}
THEIRS = Pods(
    "theirs", scheduler="nobody", spec={"resourceClaims": [{"name": "gpu", "resourceClaimName": "x"}]}
)


def one_each(machines: Iterable[str], count: int = 1) -> list[Json]:
    """So many devices on each node, and a template for one."""
    found = [gpu(number) for number in range(count)]
    return [
        device_class("gpu"),
        template("gpu", asks_for("gpu")),
        *(slice_of(one, found) for one in machines),
    ]


async def give(stage: Stage, node: str, user: Json | None = None) -> None:
    """As another scheduler does, who does not know of ours: claim `x` has the device of this node."""
    finalizers = [FINALIZER] if user else []
    await stage.api.create(
        CLAIMS, {"metadata": {"name": "x", "finalizers": finalizers}, "spec": asks_for("gpu")}
    )
    here = {"key": "metadata.name", "operator": "In", "values": [node]}
    result = {"request": "one", "driver": DRIVER, "pool": node, "device": "gpu-0"}
    allocation = {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [here]}]},
    }
    uses = {"resource": "pods", "name": THEIRS.names[0], "uid": user["metadata"]["uid"]} if user else None
    await stage.api.patch_status(
        CLAIMS, "x", {"allocation": allocation, "reservedFor": [uses] if uses else None}
    )


def test_a_gang_steps_back_if_another_claim_got_one_of_its_devices_first(server: Server) -> None:
    """The other one is written a moment before ours. Nobody of the gang is bound until it is free again."""
    crew = members(FIRST, 2, spec=CREW)

    async def act(stage: Stage) -> None:
        stage.actors["first"].line.trouble = Interlude(1, "status", lambda: give(stage, "n0"))
        await stage.play(Create(FIRST, crew), Told(crew, "Waiting: Devices: "), NotBound(crew))

        async def missing() -> str:
            left = set(await results(stage)) - {"x"}
            return f"still allocated: {left}" if left else ""

        await eventually(missing)
        await stage.api.patch_status(CLAIMS, "x", {"allocation": None})
        await stage.play(Bound(crew))
        assert sorted(await users(stage)) == ["n0/gpu-0", "n1/gpu-0"]

    on_devices(server, nodes(2), one_each(("n0", "n1")), act)


def test_a_member_whose_device_another_pod_has_is_made_anew(server: Server) -> None:
    """The other one is written after ours, and its pod runs before ours is bound."""
    job = Job(FIRST.name, 2, FIRST, spec=CREW)

    async def theirs(stage: Stage) -> None:
        node = min(await users(stage)).partition("/")[0]
        pod = Pods(THEIRS.name, scheduler=THEIRS.scheduler, node=node, spec=THEIRS.spec)
        await stage.play(Create(pod))
        await give(stage, node, await stage.api.get(PODS, pod.names[0]))
        await stage.play(Running(pod))

    async def act(stage: Stage) -> None:
        stage.actors["first"].line.trouble = Interlude(1, "binding", lambda: theirs(stage))
        await stage.play(Create(FIRST, job), Running(job), Running(THEIRS))
        assert sorted(await users(stage)) == ["n0/gpu-0", "n1/gpu-0", "n2/gpu-0"]
        await stage.play(Delete(THEIRS), Delete(job), Gone(job))

    on_devices(server, nodes(3), one_each(("n0", "n1", "n2")), act)


SIZE, LONE = 4, 6
JOBS = [Job(f"j{number}", SIZE, Group(f"j{number}", quorum=SIZE), spec=CREW) for number in range(3)]
WAVES = [
    Pods(f"wave-{number}", LONE, scheduler="default-scheduler", run_seconds=0.3, spec=CREW)
    for number in range(8)
]
PATIENCE_SECONDS = 120.0


@pytest.mark.parametrize("server", [REAL], indirect=True)
def test_gangs_and_pods_of_kube_scheduler_after_the_same_devices(server: Server) -> None:
    """There are 16. Neither scheduler sees in time what the other one gives away, so some are given twice. In
    the end all gangs run. Pods of kube-scheduler that wait for a device of ours are deleted by hand."""
    scenario = Scenario("beside kube-scheduler", nodes(4, cpu=16), ())

    async def act(stage: Stage) -> None:
        async with equipped(stage, one_each(stage.machines, 4)):
            stage.start()
            for number, wave in enumerate(WAVES):
                await stage.play(Create(wave))
                if number % 2 == 1 and number // 2 < len(JOBS):
                    job = JOBS[number // 2]
                    await stage.play(Create(job.group or Group(job.name), job))
            await stage.play(*(Running(job, PATIENCE_SECONDS) for job in JOBS))
            await eventually(lambda: unfinished(stage))
            await stage.check_laws()
            in_use = await users(stage)
            assert sorted(map(len, in_use.values())) == [1] * SIZE * len(JOBS), in_use
            await stage.play(*map(Delete, JOBS), *map(Gone, JOBS))
            await all_is_free(stage)

    with server.another_scheduler():
        play(server, scenario, act)


async def unfinished(stage: Stage) -> str:
    """Pods of the other scheduler. Those whose device a member of ours runs with are made to leave."""
    left = {name for wave in WAVES for name in wave.names if not is_over(stage, name)}
    ours = {pod.metadata.name for job in JOBS for pod in stage.observer.of_job(job.name)}
    for found in (await users(stage)).values():
        for name in left.intersection(found) if ours.intersection(found) else ():
            await stage.api.delete(PODS, name)
    return ", ".join(sorted(left))


def is_over(stage: Stage, name: str) -> bool:
    pod = stage.observer.pods.get(name)
    return pod is None or pod.is_finished
