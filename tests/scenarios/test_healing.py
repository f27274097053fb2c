"""Hardware fails under a gang: it is whole at the end, on room that was kept for it against its equals."""

from collections.abc import Awaitable, Callable, Sequence

from maitred.kube.resources import CONFIG_MAPS
from maitred.sandbox.kubelets.bodies import Machine
from tests.scenarios.api import Api, eventually
from tests.scenarios.dialect import JOBS
from tests.scenarios.faults import Interlude
from tests.scenarios.gangs import ONE_BY_ONE
from tests.scenarios.healing import (
    MEMORY,
    BreakDevice,
    EventTold,
    Given,
    Incidents,
    IsSuspended,
    Refuse,
    Tainted,
    Untouched,
    Whole,
    create_marked,
    node_of,
)
from tests.scenarios.objects import RACK, Group, Job, Pods, nodes, rack
from tests.scenarios.preempting import NoRecords
from tests.scenarios.preemption import CLASSES, HIGH, LOW, ranked
from tests.scenarios.server import Server
from tests.scenarios.stage import SYSTEM_NAMESPACE, Scenario, Stage, play
from tests.scenarios.steps import (
    Bound,
    Create,
    Delete,
    Exist,
    FailNode,
    FailNodes,
    Gone,
    HealNode,
    NotBound,
    OfferDevices,
    Running,
    Settle,
)

SIZE = 4
GANG = Group("train", quorum=SIZE)
JOB = Job("train", SIZE, GANG)
NEWCOMER = Pods("newcomer")
"""Of the same rank, and it waits for longer than the failure is there."""
BESIDE = Pods("beside")
TOGETHER = "5s"
"""A grace in which several nodes fail, also on a slow machine."""


def on_stage(
    server: Server,
    act: Callable[[Stage], Awaitable[None]],
    machines: Sequence[Machine] = nodes(SIZE + 1, cpu=1),
    **healing: object,
) -> None:
    scenario = Scenario("hardware fails", machines, (), settings=ONE_BY_ONE)

    async def on_it(stage: Stage) -> None:
        stage.start(source=lambda _: Given(healing))
        await act(stage)
        for name in stage.machines:
            await stage.play(HealNode(name))

    play(server, scenario, on_it)


async def begin(stage: Stage, spare: int = 1) -> list[Pods]:
    """The gang runs, the spare nodes are taken by others, and an equal waits."""
    await stage.play(Create(GANG, JOB), Bound(JOB))
    return await guests_and_newcomer(stage, spare)


async def guests_and_newcomer(stage: Stage, spare: int) -> list[Pods]:
    busy = {pod.spec.node_name for pod in stage.observer.of_job(JOB.name)}
    free = [name for name in stage.machines if name not in busy]
    guests = [Pods(f"guest-{name}", scheduler="nobody", node=name) for name in free[:spare]]
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


def test_two_nodes_are_lost_at_once_and_room_comes_for_one_after_the_other(server: Server) -> None:
    async def act(stage: Stage) -> None:
        guests = await begin(stage, spare=2)
        lost = (node_of(stage, JOB, 0), node_of(stage, JOB, 1))
        first, second = guests
        steps = (FailNodes(lost), Incidents(1), Delete(first), Gone(first), Settle(), NotBound(NEWCOMER))
        await stage.play(Untouched(JOB, (*steps, Delete(second), Whole(JOB, lost)), but=lost))
        await stage.play(Incidents(1, over=1), NotBound(NEWCOMER))

    on_stage(server, act, nodes(SIZE + 2, cpu=1), grace=TOGETHER)


def test_a_rack_is_lost_and_the_gang_moves_as_a_whole(server: Server) -> None:
    gang = Group("train", quorum=SIZE, topology=RACK)
    job = Job("train", SIZE, gang)

    async def act(stage: Stage) -> None:
        await stage.play(Create(gang, job), Bound(job, together=RACK))
        lost = tuple(pod.spec.node_name for pod in stage.observer.of_job(job.name))
        others = [name for name in stage.machines if name not in lost]
        guests = [Pods(f"guest-{name}", scheduler="nobody", node=name) for name in others]
        await stage.play(*map(Create, guests), *map(Bound, guests), Create(NEWCOMER), Exist(NEWCOMER))
        await stage.play(FailNodes(lost), Incidents(1), *map(Delete, guests), Whole(job, lost))
        await stage.play(Bound(job, together=RACK), Incidents(1, over=1), NotBound(NEWCOMER))

    on_stage(server, act, (*rack("r1", SIZE), *rack("r2", SIZE)), grace=TOGETHER)


GPU = "example.com/gpu"
ON_GPUS = {
    "containers": [
        {
            "name": "main",
            "image": "none",
            "resources": {"requests": {"cpu": "1", GPU: "1"}, "limits": {GPU: "1"}},
        }
    ]
}


def test_a_device_is_not_well_any_more(server: Server) -> None:
    """Its kubelet says so of the pod, and offers one device less."""
    machines = tuple(Machine(f"n{i}", {"cpu": "4", "memory": "32Gi", GPU: "1"}) for i in range(SIZE + 1))
    job = Job("train", SIZE, GANG, spec=ON_GPUS)

    async def act(stage: Stage) -> None:
        await stage.play(Create(GANG, job), Whole(job))
        hurt = sorted(stage.observer.of_job(job.name), key=lambda pod: pod.metadata.name)[0]
        where = hurt.spec.node_name
        steps = (OfferDevices(where, {GPU: "0"}), BreakDevice(hurt.metadata.name), Whole(job, (where,)))
        await stage.play(Untouched(job, steps, but=(where,)), Incidents(1, over=1))
        assert stage.observer.lives[hurt.metadata.uid].grace == 1, "its own grace period"

    on_stage(server, act, machines)


def test_a_kubelet_refuses_a_member_and_its_place_is_kept(server: Server) -> None:
    async def act(stage: Stage) -> None:
        await stage.play(Create(GANG, JOB), Whole(JOB), Create(NEWCOMER), Exist(NEWCOMER), Settle())
        refused = sorted(pod.metadata.name for pod in stage.observer.of_job(JOB.name))[0]
        await stage.play(Refuse(refused), Incidents(1, over=1), Whole(JOB), NotBound(NEWCOMER))

    on_stage(server, act, nodes(SIZE, cpu=1))


def test_a_node_that_comes_back_in_time_changes_nothing(server: Server) -> None:
    async def act(stage: Stage) -> None:
        await stage.play(Create(GANG, JOB), Whole(JOB))
        silent = node_of(stage, JOB)
        steps = (FailNode(silent), Settle(), HealNode(silent), FailNode(silent), Settle(), HealNode(silent))
        await stage.play(Untouched(JOB, (*steps, Settle())), Incidents(0))

    on_stage(server, act, nodes(SIZE + 1, cpu=1), grace="30s")


def test_what_fails_on_every_node_is_its_own_fault(server: Server) -> None:
    """Members of it end with an error wherever they run. No room is kept for it, and no node is blamed."""

    async def act(stage: Stage) -> None:
        marks = {"maitred.dev/run-seconds": "0.2", "maitred.dev/exit-code": "1"}
        await stage.play(Create(GANG))
        await create_marked(stage, JOB, marks)
        await eventually(lambda: "" if failed(stage) >= SIZE else f"{failed(stage)} have failed")
        await stage.play(Incidents(0), Create(BESIDE), Bound(BESIDE))
        await stage.api.delete(JOBS, JOB.name)

    on_stage(server, act, nodes(SIZE + 1, cpu=1))


def failed(stage: Stage) -> int:
    return sum(pod.status.phase == "Failed" for pod in stage.observer.pods.values())


def test_all_members_start_anew_together_if_the_owner_asks_for_it(server: Server) -> None:
    """Those that ran well too: their Job is suspended, and resumed on room that was kept for all of it."""

    async def act(stage: Stage) -> None:
        await stage.play(Create(GANG))
        await create_marked(stage, JOB, {"maitred.dev/on-failure": "restart"})
        await stage.play(Whole(JOB))
        [guest] = await guests_and_newcomer(stage, spare=1)
        before = {pod.metadata.uid for pod in stage.observer.of_job(JOB.name)}
        lost = node_of(stage, JOB)
        await stage.play(FailNode(lost), IsSuspended(JOB), Incidents(1), Settle(), NotBound(NEWCOMER))
        await stage.play(Delete(guest), Whole(JOB, (lost,)), Incidents(1, over=1), NoRecords())
        after = {pod.metadata.uid for pod in stage.observer.of_job(JOB.name)}
        assert not before & after, "all are others than before"
        await stage.play(NotBound(NEWCOMER), EventTold(JOB, ("its Job is suspended, so that 4 pods stop",)))

    on_stage(server, act)


def test_a_failure_while_others_make_room(server: Server) -> None:
    """One of the nodes that were promised to a gang fails before the victims have left: it is whole all the
    same, and of those that it does not need nobody is told to go twice."""
    greater = Group("greater", quorum=2, rank=HIGH.name)
    preemptor = Job("greater", 2, greater, spec=ranked(HIGH))
    lesser = Pods("lesser", 4, spec=ranked(LOW))

    async def act(stage: Stage) -> None:
        await stage.play(CLASSES, Create(lesser), Running(lesser))
        stage.actors["first"].line.trouble = Interlude(
            1, "status", lambda: stage.play(FailNode(stage.pods(lesser.names)[0].spec.node_name))
        )
        await stage.play(Create(greater, preemptor), Running(preemptor))

    on_stage(server, act, nodes(4, cpu=1))


def test_a_node_fails_between_two_binds(server: Server) -> None:
    async def act(stage: Stage) -> None:
        lost = list[str]()

        def bound() -> list[str]:
            return [pod.spec.node_name for pod in stage.observer.of_job(JOB.name) if pod.spec.node_name]

        async def fail() -> None:
            await eventually(lambda: "" if bound() else "no member is seen to be bound")
            lost.append(bound()[0])
            await stage.play(FailNode(lost[0]))

        stage.actors["first"].line.trouble = Interlude(3, "binding", fail)
        await stage.play(Create(GANG, JOB), Exist(JOB))
        await eventually(lambda: "" if lost else "no third member was about to be bound")
        await stage.play(Whole(JOB, tuple(lost)))

    on_stage(server, act, nodes(SIZE + 1, cpu=1))


def test_others_write_what_is_remembered_at_the_same_time(server: Server) -> None:
    """Nothing is done on what was decided without it: it is read, and decided again."""

    async def act(stage: Stage) -> None:
        [guest] = await begin(stage)
        lost = node_of(stage, JOB)
        memory = Api(stage.api.client, SYSTEM_NAMESPACE)
        told = list[str]()

        async def others() -> None:
            told.extend(pod.metadata.name for pod in stage.pods(NEWCOMER.names))
            await memory.delete(CONFIG_MAPS, MEMORY)
            meta = {"name": MEMORY, "labels": {"maitred.dev/record": "health"}}
            await memory.create(CONFIG_MAPS, {"metadata": meta, "data": {"record": '{"incidents":[]}'}})

        stage.actors["first"].line.trouble = Interlude(1, "configmaps", others)
        await memory.delete(CONFIG_MAPS, MEMORY)
        await stage.play(FailNode(lost), Incidents(1))
        assert told, "others have written just before us"
        await memory.patch(CONFIG_MAPS, MEMORY, {"metadata": {"annotations": {"touched": "yes"}}})
        await stage.play(Delete(guest), Whole(JOB, (lost,)), Incidents(1, over=1), NotBound(NEWCOMER))

    on_stage(server, act)


def test_a_lemon_is_tainted_and_loses_the_taint_after_a_good_run(server: Server) -> None:
    """Nobody waits and nobody is hurt: it is the node that has failed."""
    machines = tuple(Machine(f"n{i}", {"cpu": "4", "memory": "32Gi", GPU: "2"}) for i in range(2))

    async def act(stage: Stage) -> None:
        [first, *_] = stage.machines
        await stage.play(HealNode(first), OfferDevices(first, {GPU: "1"}), Tainted(first))
        await stage.play(OfferDevices(first, {GPU: "2"}), Tainted(first, False))

    on_stage(server, act, machines, lemons={"above": 0.5, "taint": True, "perDomain": 1, "release": "3s"})
