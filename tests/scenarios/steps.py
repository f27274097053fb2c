"""What happens in a scenario, step by step, and what is expected to come of it."""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from maitred.kube.client import MERGE_PATCH, encode
from maitred.kube.errors import ApiError
from maitred.kube.resources import (
    BUDGETS,
    EVENTS,
    NODES,
    PODS,
    PRIORITY_CLASSES,
    VOLUME_CLAIMS,
    VOLUMES,
    Resource,
)
from maitred.sandbox.kubelets.bodies import Machine
from tests.scenarios.api import DEADLINE_SECONDS, Json, eventually
from tests.scenarios.dialect import (
    JOBS,
    budget_body,
    composite_body,
    job_body,
    pod_bodies,
    rank_body,
    storage_bodies,
    volume,
)
from tests.scenarios.faults import Expiry, Interlude
from tests.scenarios.objects import Budget, Composite, Group, Job, Pods, Rank, Storage, Thing
from tests.scenarios.observer import SeenPod
from tests.scenarios.stage import Stage, Step

SELECTED_NODE = "volume.kubernetes.io/selected-node"

# -- what people do ----------------------------------------------------------------------------------------


class Create(Step):
    def __init__(self, *things: Thing) -> None:
        self.things = things

    def __str__(self) -> str:
        return f"create {', '.join(f'{type(thing).__name__} {thing.name}' for thing in self.things)}"

    async def play(self, stage: Stage) -> None:
        for thing in self.things:
            await create(stage, thing)


async def create(stage: Stage, thing: Thing) -> None:
    match thing:
        case Group():
            declared = stage.dialect.declare(thing)
            if declared is not None and stage.served.groups is not None:
                await stage.api.create(stage.served.groups, declared)
        case Composite():
            assert stage.served.composites is not None
            await stage.api.create(stage.served.composites, composite_body(thing))
        case Pods():
            for body in pod_bodies(thing, stage.dialect):
                await stage.api.create(PODS, body)
        case Rank():
            await create_rank(stage, thing)
        case Budget():
            await stage.api.create(BUDGETS, budget_body(thing))
        case Job():
            await stage.api.create(JOBS, job_body(thing, stage.dialect))
        case Storage():
            for resource, body in storage_bodies(thing, stage.api.namespace):
                await stage.api.create(resource, body)


async def create_rank(stage: Stage, rank: Rank) -> None:
    """A server that was just told of a class may still refuse the first pods that name it."""
    await stage.api.create(PRIORITY_CLASSES, rank_body(rank))
    pod = pod_bodies(Pods("of-rank", spec={"priorityClassName": rank.name}), stage.dialect)[0]

    async def missing() -> str:
        try:
            await stage.api.try_out(PODS, pod)
        except ApiError as error:
            return str(error)
        return ""

    await eventually(missing)


@dataclass(frozen=True)
class Delete(Step):
    thing: Pods | Group | Job

    async def play(self, stage: Stage) -> None:
        match self.thing:
            case Pods():
                for name in self.thing.names:
                    await stage.api.delete(PODS, name)
            case Job():
                await stage.api.delete(JOBS, self.thing.name)
            case Group():
                assert stage.served.groups is not None
                # With its finalizer it would stay for as long as it has members.
                bare = {"metadata": {"finalizers": None}}
                await stage.api.patch(stage.served.groups, self.thing.name, bare)
                await stage.api.delete(stage.served.groups, self.thing.name)


@dataclass(frozen=True)
class Ungate(Step):
    pods: Pods

    async def play(self, stage: Stage) -> None:
        for name in self.pods.names:
            await stage.api.patch(PODS, name, {"spec": {"schedulingGates": None}})


@dataclass(frozen=True)
class Provision(Step):
    """As a provisioner does: once a node is chosen for the claim, there is a volume for it there."""

    storage: Storage

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))
        node = await self._chosen(stage)
        await stage.api.create(VOLUMES, volume(self.storage, stage.api.namespace, node))

    async def _missing(self, stage: Stage) -> str:
        return "" if await self._chosen(stage) else f"no node is chosen for claim {self.storage.name}"

    async def _chosen(self, stage: Stage) -> str:
        claim = await stage.api.get(VOLUME_CLAIMS, self.storage.name)
        return str(claim["metadata"].get("annotations", {}).get(SELECTED_NODE, ""))


@dataclass(frozen=True)
class SetQuorum(Step):
    group: Group
    quorum: int

    async def play(self, stage: Stage) -> None:
        assert stage.served.groups is not None
        policy = {"gang": {"minCount": self.quorum}}
        await stage.api.patch(stage.served.groups, self.group.name, {"spec": {"schedulingPolicy": policy}})


# -- what happens to nodes, servers and schedulers -----------------------------------------------------------


@dataclass(frozen=True)
class AddNode(Step):
    machine: Machine

    async def play(self, stage: Stage) -> None:
        stage.machines[self.machine.name] = self.machine
        await stage.fleet.add(self.machine)


@dataclass(frozen=True)
class RemoveNode(Step):
    name: str

    async def play(self, stage: Stage) -> None:
        await stage.fleet.remove(self.name)
        del stage.machines[self.name]


@dataclass(frozen=True)
class FailNode(Step):
    name: str

    async def play(self, stage: Stage) -> None:
        await stage.fleet.fail(self.name)


@dataclass(frozen=True)
class FailNodes(Step):
    """At once, as when a rack loses its power: one after the other they would be failures of their own."""

    names: tuple[str, ...]

    async def play(self, stage: Stage) -> None:
        await asyncio.gather(*(stage.fleet.fail(name) for name in self.names))


@dataclass(frozen=True)
class HealNode(Step):
    name: str

    async def play(self, stage: Stage) -> None:
        await stage.fleet.heal(self.name)


@dataclass(frozen=True)
class OfferDevices(Step):
    """As a kubelet does: so many of the devices of a node are well, whatever its capacity is."""

    name: str
    devices: Mapping[str, str]

    async def play(self, stage: Stage) -> None:
        change = {"status": {"allocatable": dict(self.devices)}}
        path = NODES.path(name=self.name, subresource="status")
        await stage.api.client.request("PATCH", path, body=encode(change), content_type=MERGE_PATCH)


@dataclass(frozen=True)
class StopServer(Step):
    """As in a crash: no goodbye to anyone."""

    async def play(self, stage: Stage) -> None:
        stage.server.stop()


@dataclass(frozen=True)
class StartServer(Step):
    """Once it has stopped: it comes back at the same address."""

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: "the server still runs" * stage.server.running)
        stage.server.start()
        await eventually(lambda: self._missing(stage), seconds=120)
        # A server that has just started does not know anyone's rights yet, and refuses everything.
        for journal in stage.journals:
            journal.forbidden.clear()

    async def _missing(self, stage: Stage) -> str:
        return "" if await stage.api.answers() else "the server is not ready"


@dataclass(frozen=True)
class Crash(Step):
    name: str = "first"

    async def play(self, stage: Stage) -> None:
        await stage.actors.pop(self.name).crash()


@dataclass(frozen=True)
class Start(Step):
    name: str = "first"

    async def play(self, stage: Stage) -> None:
        stage.start(self.name)


@dataclass(frozen=True)
class Meanwhile(Step):
    """From now on: the step is played just before the scheduler sends its nth bind, or other write."""

    before: int
    step: Step
    write: str = "binding"

    async def play(self, stage: Stage) -> None:
        line = stage.actors["first"].line
        line.trouble = Interlude(self.before, self.write, lambda: stage.play(self.step))


@dataclass(frozen=True)
class Expire(Step):
    """From now on: what comes next on each watch is lost, and so is the version to go on from."""

    name: str = "first"

    async def play(self, stage: Stage) -> None:
        stage.actors[self.name].line.trouble = Expiry()


@dataclass(frozen=True)
class Settle(Step):
    """The scheduler has decided on all that it was told before: a pod that came later has its node."""

    async def play(self, stage: Stage) -> None:
        for number in range(2):
            probe = Pods("probe", first=number, cpu=0)
            await stage.play(Create(probe), Bound(probe), Delete(probe))


# -- what is expected ----------------------------------------------------------------------------------------


def size(who: Pods | Job) -> int:
    return who.size if isinstance(who, Job) else who.count


def pods_of(stage: Stage, who: Pods | Job) -> list[SeenPod]:
    return stage.observer.of_job(who.name) if isinstance(who, Job) else stage.pods(who.names)


@dataclass(frozen=True)
class Bound(Step):
    """So many of the pods, all of them if not said otherwise, get their nodes."""

    who: Pods | Job
    count: int | None = None
    on: Mapping[str, str] = field(default_factory=dict)
    """Labels that their nodes have."""
    together: str = ""
    """The label of which their nodes all have the same value."""

    def __str__(self) -> str:
        return f"{self.who.name}: {'all' if self.count is None else self.count} bound"

    async def play(self, stage: Stage) -> None:
        wanted = size(self.who) if self.count is None else self.count
        await eventually(lambda: self._missing(stage, wanted))
        labels = [stage.machines[node].labels for node in bound_nodes(stage, self.who)]
        for key, value in self.on.items():
            assert {found.get(key) for found in labels} == {value}, f"{key} must be {value}: {labels}"
        if self.together:
            assert len({found.get(self.together) for found in labels}) == 1, labels

    def _missing(self, stage: Stage, wanted: int) -> str:
        found = len(bound_nodes(stage, self.who))
        return "" if found == wanted else f"{found} of {wanted} are bound"


def bound_nodes(stage: Stage, who: Pods | Job) -> list[str]:
    return [pod.spec.node_name for pod in pods_of(stage, who) if pod.spec.node_name]


@dataclass(frozen=True)
class Running(Step):
    """The kubelets have taken all of the pods."""

    who: Pods | Job
    seconds: float = DEADLINE_SECONDS

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage), self.seconds)

    def _missing(self, stage: Stage) -> str:
        found = sum(pod.status.phase == "Running" for pod in pods_of(stage, self.who))
        return "" if found == size(self.who) else f"{found} of {size(self.who)} run"


@dataclass(frozen=True)
class NotBound(Step):
    """Now. After `Told` or `Settle`, for otherwise it may only be too early."""

    who: Pods | Job

    async def play(self, stage: Stage) -> None:
        found = [pod.metadata.name for pod in pods_of(stage, self.who) if pod.spec.node_name]
        assert not found, f"{found} are bound"


@dataclass(frozen=True)
class Exist(Step):
    """All of the pods are there; those of a Job come from its controller."""

    who: Pods | Job

    async def play(self, stage: Stage) -> None:
        wanted = size(self.who)
        await eventually(lambda: f"{wanted} pods" * (len(pods_of(stage, self.who)) != wanted))


@dataclass(frozen=True)
class Gone(Step):
    who: Pods | Job

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: ", ".join(pod.metadata.name for pod in pods_of(stage, self.who)))


@dataclass(frozen=True)
class Same(Step):
    """The same pods, and not others in their place, before and after the steps."""

    who: Pods
    steps: tuple[Step, ...]

    async def play(self, stage: Stage) -> None:
        before = [pod.metadata.uid for pod in stage.pods(self.who.names)]
        await stage.play(*self.steps)
        after = [pod.metadata.uid for pod in stage.pods(self.who.names)]
        assert before == after, f"{self.who.name}: other pods than before"


@dataclass(frozen=True)
class Finished(Step):
    who: Pods | Job

    async def play(self, stage: Stage) -> None:
        def missing() -> str:
            return ", ".join(p.metadata.name for p in pods_of(stage, self.who) if not p.is_finished)

        await eventually(missing)


@dataclass(frozen=True)
class PodsTold(Step):
    """What the pods that have no node say of themselves; autoscalers act on the reason."""

    who: Pods | Job
    words: str
    reason: str = "Unschedulable"

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self.missing(stage))

    def missing(self, stage: Stage) -> str:
        untold = [pod for pod in pods_of(stage, self.who) if not pod.spec.node_name and not self._told(pod)]
        return ", ".join(f"{pod.metadata.name} says {pod.told}" for pod in untold)

    def _told(self, pod: SeenPod) -> bool:
        told = pod.told
        return told is not None and told.message.startswith(self.words) and told.reason == self.reason


@dataclass(frozen=True)
class Told(Step):
    """What people are told of a group, wherever they look: in its condition, at the pods, in an Event.

    `words` are what the message begins with: the verdict and the category of the first blocker.
    """

    who: Pods | Job
    words: str
    reason: str = "Unschedulable"
    event: bool = True
    """A scheduler that crashed may have been about to write it; nobody makes up for that."""

    def __str__(self) -> str:
        return f"people are told of {self.who.name}: {self.words}"

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: self._missing(stage))

    async def _missing(self, stage: Stage) -> str:
        scheduled = self.words.startswith("Scheduled")
        missing = "" if scheduled else PodsTold(self.who, self.words, self.reason).missing(stage)
        if missing:
            return missing
        about = set(self._subjects(pods_of(stage, self.who)))
        if stage.served.groups is not None and self.who.group is not None:
            condition = await group_condition(stage, self.who.group.name)
            if not str(condition.get("message", "")).startswith(self.words):
                return f"the condition of the group is {condition}"
            about = {("PodGroup", self.who.group.name)}
        if not self.event:
            return ""
        notes = [note for note in await notes_about(stage, about) if note.startswith(self.words)]
        return "" if notes else f"no such event about {about}"

    def _subjects(self, pods: list[SeenPod]) -> Iterator[tuple[str, str]]:
        for pod in pods:
            owners = [(o.kind, o.name) for o in pod.metadata.owner_references if o.controller]
            yield from owners or [("Pod", pod.metadata.name)]


@dataclass(frozen=True)
class ConditionStays(Step):
    """Whatever the steps do to the group, its condition is the same after them as before."""

    group: Group
    steps: tuple[Step, ...]

    async def play(self, stage: Stage) -> None:
        before = await group_condition(stage, self.group.name)
        await stage.play(*self.steps)
        after = await group_condition(stage, self.group.name)
        assert before == after, f"was {before}, is {after}"


@dataclass(frozen=True)
class Expired(Step):
    """The server has told the scheduler that what it knows is too old to go on from."""

    async def play(self, stage: Stage) -> None:
        await eventually(lambda: "" if any(j.expired for j in stage.journals) else "no version has expired")


async def group_condition(stage: Stage, group: str) -> Json:
    assert stage.served.groups is not None
    found = await conditions_of(stage, stage.served.groups, group)
    return found.get(stage.served.group_condition, {})


async def conditions_of(stage: Stage, resource: Resource, name: str) -> dict[str, Json]:
    """By their types."""
    found = await stage.api.get(resource, name)
    return {one["type"]: one for one in found.get("status", {}).get("conditions", [])}


async def notes_about(stage: Stage, subjects: set[tuple[str, str]]) -> list[str]:
    events: list[dict[str, Any]] = await stage.api.list(EVENTS)
    return [
        event["note"]
        for event in events
        if (event["regarding"].get("kind"), event["regarding"].get("name")) in subjects
    ]
