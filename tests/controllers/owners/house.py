"""A scheduler without a server, in which suspended Jobs wait and come back."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec

from maitred.controllers.owners.returns import Returns
from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.scheduling.amending import without
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.decide import Scope, decide
from maitred.kube.outcomes import Done, Refused, Unknown
from maitred.kube.resources import CONFIG_MAPS, Resource
from maitred.kube.wire import WatchedJob, WatchedPod
from maitred.kube.writes import OwnerToWrite
from maitred.model.meta import Timestamp
from maitred.model.plan import Plan
from maitred.model.policy import Policy
from maitred.model.suspending import OwnerName
from tests.cluster.seen import put
from tests.controllers.owners.made import JOBS, KEPT, SERVED, job
from tests.controllers.watched import watched_pod
from tests.oracle.builders import gang, node
from tests.support import NOON

NOW = msgspec.convert(NOON, Timestamp)
FOUR = gang("train", 4)
KEY = "default/train"
OWNER = OwnerName("Job", KEY)

Outcome = Done | Refused | Unknown


@dataclass
class Answers:
    """Stands for the API server."""

    resumed: list[str] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    """What is answered the first times."""
    meanwhile: Callable[[], object] = lambda: None

    tidied: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)
    """The names of records that were deleted."""
    refusal: Outcome | None = None
    """Whether records may not be deleted."""

    hastened: list[tuple[str, int | None]] = field(default_factory=list)
    """Pods that were deleted, and the grace that each was given."""

    async def delete_pod(self, namespace: str, name: str, uid: str, grace: int | None = None) -> Outcome:
        self.hastened.append((name, grace))
        return self.outcomes.pop(0) if self.outcomes else Done()

    async def resume(self, owner: OwnerToWrite) -> Outcome:
        assert owner.uid == f"{owner.title.lower()}-{owner.name}"
        self.resumed.append(f"{owner.namespace}/{owner.name}")
        self.meanwhile()
        return self.outcomes.pop(0) if self.outcomes else Done()

    async def tidy(self, owner: OwnerToWrite) -> Outcome:
        self.tidied.append(f"{owner.namespace}/{owner.name}")
        return self.outcomes.pop(0) if self.outcomes else Done()

    async def delete(self, resource: Resource, namespace: str, name: str) -> Outcome:
        assert (resource, namespace) == (CONFIG_MAPS, "own")
        self.dropped.append(name)
        return self.refusal or Done()


class House:
    """A scheduler without a server, cycle by cycle."""

    def __init__(self, *nodes: dict[str, Any], policy: Policy | None = None) -> None:
        self.mirror, self.agenda, self.api = Mirror("maitred"), Worklist(), Answers()
        self.policy = policy or Policy()
        writer: Any = self.api
        self.suspensions = Suspensions(writer, "own", "maitred", SERVED)
        self.returns = Returns(self.mirror, self.agenda, self.suspensions, "maitred")
        put(self.mirror.state, *nodes)

    def put(self, *things: WatchedPod | WatchedJob) -> None:
        for thing in things:
            if isinstance(thing, WatchedJob):
                self.returns.put(JOBS, thing)
                self.put_record(thing)
            else:
                self.mirror.put_pod(thing)

    def put_record(self, about: WatchedJob) -> None:
        name = f"own/{about.metadata.name}"
        if (text := about.metadata.annotations.get(KEPT)) is not None:
            self.suspensions.put(name, text)
        else:
            self.suspensions.gone(name)

    def gone(self, *pods: str) -> None:
        for name in pods:
            self.mirror.pod_gone(f"default/{name}")

    async def cycle(self) -> Plan:
        """What is left to be carried out, of pods that exist. Writes have come to their end after it."""
        await self.returns.prepare()
        mirror = self.mirror
        selection = self.agenda.select(mirror.state.take_news(), mirror.waiting_by_group, 0.0)
        plan = decide(mirror.state.snapshot(), self.policy, NOW, Scope("maitred", selection))
        self.agenda.decided(plan.groups, selection, mirror.waiting_by_group)
        left = without(plan, await self.returns.take(plan), mirror.waiting)
        for bind in left.binds:
            assert mirror.overlay.assume(bind.pod, bind.uid, bind.node)
        for _ in range(10):
            await asyncio.sleep(0)
        return left

    @property
    def standing(self) -> int:
        """As the next decision sees it."""
        if OWNER in self.returns._standing_down:
            return 0
        return list(self.mirror.overlay.stand_ins.values()).count(OWNER)


APART = {"completionMode": "NonIndexed"}
"""Of a Job each of whose pods is of use by itself."""


def in_house(make: Callable[[], House], story: Callable[[House], Awaitable[None]]) -> None:
    async def play() -> None:
        house = make()
        writing = asyncio.create_task(house.returns.run())
        try:
            await story(house)
        finally:
            writing.cancel()

    asyncio.run(play())


def members(*indexes: int, marks: dict[str, str] | None = None, **fields: Any) -> list[WatchedPod]:
    """Pods of the Job, back or not yet gone."""
    marks = FOUR if marks is None else marks
    return [
        watched_pod(
            f"train-{index}", cpu=1, index=index, owner="Job/train", annotations=marks, created=60, **fields
        )
        for index in indexes
    ]


def guest(cpu: int = 4, name: str = "guest", **fields: Any) -> WatchedPod:
    return watched_pod(name, cpu=cpu, node="n1", scheduler="nobody", **fields)


def room() -> House:
    return House(node("n1", cpu=4))


def bound(plan: Plan) -> list[str]:
    return [bind.pod.removeprefix("default/") for bind in plan.binds]


def back(**fields: Any) -> WatchedJob:
    return job(marks=FOUR, kept=None, suspend=False, generation=3, **fields)
