"""A gang that waits, pods that could make room for it, and what is written when they do."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import msgspec

from maitred.cluster.leaving import leaving_pods
from maitred.cluster.state import ClusterState
from maitred.controllers.owners.suspensions import Suspensions
from maitred.controllers.scheduling.evicting import Evicter, RoomOrder
from maitred.controllers.scheduling.mirror import Mirror
from maitred.kube.outcomes import Done, RefusalReason, Refused, Unknown
from maitred.kube.resources import CONFIG_MAPS, Resource
from maitred.kube.wire import Condition, WatchedPod
from maitred.kube.writes import OwnerToWrite
from maitred.model.job import Job
from maitred.model.plan import Plan
from tests.cluster.seen import put
from tests.controllers.owners.made import JOBS, SERVED
from tests.controllers.victims import eviction, preempting, seat
from tests.controllers.watched import watched_pod
from tests.oracle.builders import gang, node

NOTHING = ClusterState().snapshot()
GANG = gang("g", 2)
FORBIDDEN = Refused(RefusalReason.FORBIDDEN, "no")

Outcome = Done | Refused | Unknown


@dataclass
class Record:
    """Stands for the API server: keeps what is written, in order, and answers as it is told to."""

    written: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    answers: dict[str, list[Outcome]] = field(default_factory=dict)
    """What a write is answered the first times."""
    meanwhile: dict[str, Callable[[], object]] = field(default_factory=dict)
    """What happens while one is written."""

    async def nominate(self, namespace: str, name: str, uid: str, node: str) -> Outcome:
        return self._write(f"nominate {name} to {node or 'none'}")

    async def patch_pod_condition(self, namespace: str, name: str, uid: str, told: Condition) -> Outcome:
        assert (told.type, told.status, told.reason) == ("DisruptionTarget", "True", "PreemptionByScheduler")
        self.said.append(told.message)
        return self._write(f"mark {name}")

    async def delete_pod(self, namespace: str, name: str, uid: str, grace: int | None = None) -> Outcome:
        return self._write(f"delete {name}" if grace is None else f"delete {name} within {grace}")

    async def create(self, resource: Resource, namespace: str, body: bytes) -> Outcome:
        assert (resource, namespace) == (CONFIG_MAPS, "own")
        self.said.append(msgspec.json.decode(body)["data"]["record"])
        return self._write("record")

    async def delete(self, resource: Resource, namespace: str, name: str) -> Outcome:
        assert (resource, namespace) == (CONFIG_MAPS, "own")
        return self._write("forget")

    async def suspend(self, owner: OwnerToWrite, annotation: str) -> Outcome:
        self.said.append(annotation)
        return self._write(f"suspend {owner.name}")

    def _write(self, what: str) -> Outcome:
        self.written.append(what)
        self.meanwhile.get(what, lambda: None)()
        answers = self.answers.get(what)
        return answers.pop(0) if answers else Done()


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


class House:
    """A gang of two that waits, and three pods on two nodes that could make room for it."""

    def __init__(self, runner: asyncio.Runner) -> None:
        self.runner = runner
        self.clock = Clock()
        self.mirror = Mirror("maitred", clock=self.clock)
        put(self.mirror.state, node("n1", cpu=2), node("n2", cpu=2))
        for name in ("a", "b"):
            self.mirror.put_pod(watched_pod(name, cpu=2, annotations=GANG))
        for name, where in (("x", "n1"), ("y", "n1"), ("z", "n2")):
            self.mirror.put_pod(self.victim(name, where))
        self.record = Record()
        self.begun: list[bool] = []
        self.finished: list[RoomOrder] = []
        self.evicter = Evicter(
            self.record,  # type: ignore[arg-type]
            Suspensions(self.record, "own", "maitred", SERVED),  # type: ignore[arg-type]
            self.mirror,
            4,
            lambda _, begun: self.begun.append(begun),
            self.finished.append,
        )

    def victim(self, name: str, where: str, **fields: Any) -> WatchedPod:
        fields = {"owner": "Job/train", "scheduler": "default-scheduler", **fields}
        return watched_pod(name, cpu=1, node=where, **fields)

    def put_job(self, *, suspend: bool = False, managed_by: str = "") -> None:
        owner = self.mirror.overlay.owner("default/x")
        assert owner is not None
        meta = {"name": owner.name, "namespace": "default", "uid": owner.uid}
        spec = {"suspend": suspend, "managedBy": managed_by}
        self.mirror.put_owner(msgspec.convert({"metadata": meta, "spec": spec}, Job), JOBS)

    def carry_out(self, *plans: Plan) -> list[str]:
        async def run() -> None:
            for plan in plans:
                self.evicter.decided(plan, NOTHING, 0.0)
            running = asyncio.create_task(self.evicter.run())
            while self.evicter.unfinished and not running.done():
                await asyncio.sleep(0)
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running

        self.runner.run(run())
        return self.record.written

    @property
    def leaving(self) -> set[str]:
        snapshot = self.mirror.state.snapshot()
        leaving = snapshot.bound.occupants[leaving_pods(snapshot, LIMIT, now=0)]
        return {occupant.key.removeprefix("default/") for occupant in leaving}

    def linger(self, name: str, where: str) -> None:
        """Somebody has deleted this pod, and given it ten years."""
        pod = self.victim(name, where, deleted=True)
        years = msgspec.structs.replace(pod.metadata, deletion_grace_period_seconds=10 * 365 * 86_400)
        self.mirror.put_pod(msgspec.structs.replace(pod, metadata=years))

    @property
    def promised(self) -> dict[str, str]:
        """As the next cycle sees it."""
        [view] = [v for v in self.mirror.state.snapshot().groups if v.group.key == "default/g"]
        return {pod: node for pod, node in zip(view.pods, view.nominated, strict=False) if node}


LIMIT = 3600
SEATS = (seat("a", "n1"), seat("b", "n2"))
ALL = preempting(eviction("x"), eviction("y"), eviction("z"), seats=SEATS)
PROMISED = {"default/a": "n1", "default/b": "n2"}
CLEARED = ["nominate a to none", "nominate b to none"]
JOB_LEAVES = preempting(*(eviction(name, job="train") for name in "xyz"), seats=SEATS)
TAKEN = Refused(RefusalReason.TAKEN, "the Job is suspended already")
