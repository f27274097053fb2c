"""What hardware, drivers, clouds and programs say of themselves: what was lost is made up for, and whoever
runs well is left alone."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import nullcontext

from maitred.kube.resources import NODES, PODS
from maitred.sandbox.kubelets.bodies import Machine
from tests.explain.healths import health_of
from tests.scenarios.api import Json, eventually
from tests.scenarios.devices import (
    OWN,
    all_is_free,
    asks_for,
    device,
    device_class,
    equipped,
    slice_of,
    template,
)
from tests.scenarios.dialect import JOBS
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import (
    EventTold,
    Given,
    Incidents,
    Register,
    Untouched,
    Warn,
    Whole,
    node_of,
    publish,
    tell_checkpoint,
    tell_step_time,
)
from tests.scenarios.objects import Group, Job, Pods, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import (
    Bound,
    Create,
    Delete,
    Exist,
    FailNode,
    HealNode,
    NotBound,
    Settle,
    Told,
)

SIZE = 3
GANG = Group("train", quorum=SIZE)
JOB = Job("train", SIZE, GANG)
STOP_SECONDS = 3.0
"""How long pods take to leave, so that a scheduler hears that they do before they are gone."""


def on_stage(
    server: Server,
    act: Callable[[Stage], Awaitable[None]],
    machines: Sequence[Machine] = nodes(SIZE + 1, cpu=1),
    things: Sequence[Json] = (),
    healing: Mapping[str, object] | None = None,
) -> None:
    scenario = Scenario(
        "hardware speaks", machines, (), settings=ONE_BY_ONE, stop_seconds=STOP_SECONDS if things else 0.0
    )

    async def on_it(stage: Stage) -> None:
        async with equipped(stage, things) if things else nullcontext():
            stage.start(source=lambda _: Given(healing or {}))
            await act(stage)
            for name in stage.machines:
                await stage.play(HealNode(name))
            if things:
                await leave_devices(stage)

    play(server, scenario, on_it)


async def leave_devices(stage: Stage) -> None:
    """Once all pods are gone, all devices are free."""
    await stage.check_laws()
    for resource in (JOBS, PODS):
        await stage.api.delete_all(resource)
    await all_is_free(stage)


# -- devices that are claimed --------------------------------------------------------------------------------

CLAIMING = {"resourceClaims": [OWN], "terminationGracePeriodSeconds": int(STOP_SECONDS)}
ON_CLAIMS = Job("train", SIZE, GANG, spec=CLAIMING)
NEWCOMER = Pods("newcomer", spec=CLAIMING)
"""Of the same rank: it waits for a device."""


def a_gpu_each(count: int) -> list[Json]:
    """A class, a template, and a GPU on each node."""
    return [
        device_class("gpu"),
        template("gpu", asks_for("gpu")),
        *(slice_of(f"n{number}", [device("gpu-0", "gpu")]) for number in range(count)),
    ]


async def begin(stage: Stage) -> Pods:
    """The gang runs, somebody else has the node that is left, and an equal waits for it."""
    await stage.play(Create(GANG, ON_CLAIMS), Whole(ON_CLAIMS))
    busy = {pod.spec.node_name for pod in stage.observer.of_job(ON_CLAIMS.name)}
    [free] = set(stage.machines) - busy
    guest = Pods("guest", scheduler="nobody", node=free)
    await stage.play(Create(guest), Bound(guest), Create(NEWCOMER), Exist(NEWCOMER), Settle())
    return guest


def test_a_claimed_device_is_tainted(server: Server) -> None:
    """The member that has it must go, as the device controller says. Its place is kept against an equal."""

    async def act(stage: Stage) -> None:
        guest = await begin(stage)
        bad = node_of(stage, ON_CLAIMS)
        taint = {"key": "example.com/unhealthy", "effect": "NoExecute"}
        await publish(stage, slice_of(bad, [device("gpu-0", "gpu", taints=[taint])]))
        steps = (Incidents(1), Settle(), NotBound(NEWCOMER), Delete(guest), Whole(ON_CLAIMS, (bad,)))
        await stage.play(Untouched(ON_CLAIMS, steps, but=(bad,)), Incidents(1, over=1), NotBound(NEWCOMER))

    on_stage(server, act, things=a_gpu_each(SIZE + 1))


def test_a_claimed_device_vanishes_from_its_slice(server: Server) -> None:
    """The driver may be starting anew, and who has the device may work with it still: nobody has to go."""

    async def act(stage: Stage) -> None:
        await begin(stage)
        bad = node_of(stage, ON_CLAIMS)
        await publish(stage, slice_of(bad, []))
        await stage.play(Untouched(ON_CLAIMS, (Settle(), Incidents(0))))

    on_stage(server, act, things=a_gpu_each(SIZE + 1))


# -- device plugins ------------------------------------------------------------------------------------------

GPU, COUNT = "nvidia.com/gpu", "nvidia.com/gpu.count"
ON_GPUS = {
    "containers": [
        {
            "name": "main",
            "image": "none",
            "resources": {"requests": {"cpu": "1", GPU: "1"}, "limits": {GPU: "1"}},
        }
    ]
}


def test_a_device_plugin_never_registers(server: Server) -> None:
    """A label tells of a GPU that nobody offers: the gang waits and hears why. It begins once the plugin is
    there."""
    own = {"cpu": "4", "memory": "32Gi"}
    machines = [Machine(f"n{number}", {**own, GPU: "1"}) for number in range(SIZE - 1)]
    silent = Machine(f"n{SIZE - 1}", own, {COUNT: "1"})
    job = Job("train", SIZE, GANG, spec=ON_GPUS)

    async def act(stage: Stage) -> None:
        await stage.play(Create(GANG, job), Told(job, "Waiting: Health: "), NotBound(job), Incidents(0))
        await stage.play(Register(silent.name, {GPU: "1"}), Whole(job), Incidents(0))

    on_stage(server, act, (*machines, silent))


# -- what does not break a gang ------------------------------------------------------------------------------


def test_a_slow_member_is_named_and_left_alone(server: Server) -> None:
    async def act(stage: Stage) -> None:
        await stage.play(Create(GANG, JOB), Whole(JOB))
        members = sorted(pod.metadata.name for pod in stage.observer.of_job(JOB.name))
        for name, seconds in zip(members, ("2.0", "2.1", "9.5"), strict=True):
            await tell_step_time(stage, name, seconds)
        await stage.play(Untouched(JOB, (Settle(), Incidents(0))))
        await eventually(lambda: named_as_slow(stage, members[-1]))

    on_stage(server, act)


def test_a_slow_member_is_replaced_once_its_gang_has_saved_its_work(server: Server) -> None:
    """If the policy says so. Before that it stays; the others stay in any case."""

    async def act(stage: Stage) -> None:
        await stage.play(Create(GANG, JOB), Whole(JOB))
        slow = node_of(stage, JOB, SIZE - 1)
        members = sorted(pod.metadata.name for pod in stage.observer.of_job(JOB.name))
        for name, seconds in zip(members, ("2.0", "2.1", "9.5"), strict=True):
            await tell_step_time(stage, name, seconds)
        early = Pods("early")
        await stage.play(Untouched(JOB, (Create(early), Bound(early), Settle(), Incidents(0))))
        for name in members:
            await tell_checkpoint(stage, name)
        late = Pods("late")
        steps = (Create(late), Bound(late), Incidents(1, over=1), Whole(JOB, (slow,)))
        await stage.play(Untouched(JOB, steps, but=(slow,)))
        await stage.play(EventTold(JOB, ("its steps take 9.5 s", "1 pod is deleted")))

    on_stage(server, act, nodes(SIZE + 3, cpu=1), healing={"slow": {"replace": True}})


async def named_as_slow(stage: Stage, member: str) -> str:
    """By `maitred health`, from what the server holds."""
    resources = [NODES, PODS, *([] if stage.served.groups is None else [stage.served.groups])]
    found = health_of([item for resource in resources for item in await stage.api.list(resource)])
    told = [(one.family, one.words) for one in found.hurt]
    right = len(told) == 1 and told[0][0] == "Degradation" and member in told[0][1]
    return "" if right and not found.unwell else f"{told} of groups, {found.unwell} of nodes"


def test_a_cloud_says_that_it_takes_a_node_back_and_then_does(server: Server) -> None:
    """Its notice moves nobody: that is a drain, which somebody asks for. Nobody new goes there."""

    async def act(stage: Stage) -> None:
        await stage.play(Create(GANG, JOB), Whole(JOB))
        going = node_of(stage, JOB)
        newcomer = Pods("newcomer")
        steps = (Warn(going), Settle(), Incidents(0), Create(newcomer), Bound(newcomer))
        await stage.play(Untouched(JOB, steps))
        await stage.play(FailNode(going), Incidents(1), Delete(newcomer), Whole(JOB, (going,)))
        await stage.play(Incidents(1, over=1))

    on_stage(server, act)


def test_a_node_that_comes_and_goes_hurts_its_gang_once(server: Server) -> None:
    """The first time for longer than the grace. Then the gang has left it, and does not go back."""

    async def act(stage: Stage) -> None:
        await stage.play(Create(GANG, JOB), Whole(JOB))
        flapping = node_of(stage, JOB)
        await stage.play(FailNode(flapping), Whole(JOB, (flapping,)), Incidents(1, over=1))
        again = (HealNode(flapping), Settle(), FailNode(flapping), Settle(), HealNode(flapping), Settle())
        await stage.play(Untouched(JOB, again, but=(flapping,)), Incidents(1, over=1))

    on_stage(server, act)
