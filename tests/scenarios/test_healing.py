"""Hardware fails under a gang: it is whole at the end, on room that was kept for it against its equals."""

from collections.abc import Awaitable, Callable, Sequence

from maitred.sandbox.kubelets.bodies import Machine
from tests.scenarios.healing import (
    EventTold,
    Given,
    Incidents,
    Untouched,
    Whole,
    node_of,
)
from tests.scenarios.objects import Group, Job, Pods, nodes
from tests.scenarios.server import Server
from tests.scenarios.stage import Scenario, Stage, play
from tests.scenarios.steps import Bound, Create, Delete, Exist, FailNode, HealNode, NotBound, Settle

SIZE = 4
GANG = Group("train", quorum=SIZE)
JOB = Job("train", SIZE, GANG)
NEWCOMER = Pods("newcomer")
"""Of the same rank, and it waits for longer than the failure is there."""
BESIDE = Pods("beside")


def on_stage(
    server: Server,
    act: Callable[[Stage], Awaitable[None]],
    machines: Sequence[Machine] = nodes(SIZE + 1, cpu=1),
    **healing: object,
) -> None:
    scenario = Scenario("hardware fails", machines, ())

    async def on_it(stage: Stage) -> None:
        stage.start(source=lambda _: Given(healing))
        await act(stage)
        for name in stage.machines:
            await stage.play(HealNode(name))

    play(server, scenario, on_it)


async def begin(stage: Stage, spare: int = 1) -> list[Pods]:
    """The gang runs, the spare nodes are taken by others, and an equal waits."""
    await stage.play(Create(GANG, JOB), Bound(JOB))
    busy = {pod.spec.node_name for pod in stage.observer.of_job(JOB.name)}
    guests = list[Pods]()
    for name in [name for name in stage.machines if name not in busy][:spare]:
        guests.append(Pods(f"guest-{name}", scheduler="nobody", node=name))
    await stage.play(*map(Create, guests), *map(Bound, guests), Create(NEWCOMER), Exist(NEWCOMER))
    return guests


def test_a_node_is_lost(server: Server) -> None:
    """Room comes once the gang is hurt, and an equal has waited for it since before: the gang gets it."""

    async def act(stage: Stage) -> None:
        [guest] = await begin(stage)
        lost = node_of(stage, JOB)
        steps = (
            FailNode(lost),
            Incidents(1),
            Settle(),
            NotBound(NEWCOMER),
            Delete(guest),
            Whole(JOB, (lost,)),
        )
        await stage.play(Untouched(JOB, steps, but=(lost,)), Incidents(1, over=1))
        await stage.play(EventTold(JOB, ("lost", lost, "does not answer")), EventTold(JOB, ("works again",)))
        await stage.play(NotBound(NEWCOMER), HealNode(lost), Bound(NEWCOMER))

    on_stage(server, act)
