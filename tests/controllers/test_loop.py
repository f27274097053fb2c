"""When a cycle is due without anything having happened."""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, datetime

import msgspec
import pytest

from maitred.cluster.snapshot import Snapshot
from maitred.controllers.scheduling import worklist
from maitred.controllers.scheduling.last_verdicts import LastVerdicts
from maitred.controllers.scheduling.loop import SchedulingLoop
from maitred.controllers.scheduling.metrics import Metrics
from maitred.controllers.scheduling.mirror import Mirror
from maitred.controllers.scheduling.worklist import Worklist
from maitred.kube.wire import WatchedClaim, WatchedPod
from maitred.model.plan import ClaimAllocation, Plan
from maitred.model.policy import Policy, Preemption
from tests.cluster.seen import put
from tests.controllers.device_world import allocation
from tests.controllers.victims import seat
from tests.controllers.watched import watched_pod
from tests.oracle.builders import gang, node

DELAYED = Policy(preemption=Preemption(delay="2s"))
SECONDS = 20.0
"""Long enough on any machine, and far less than until everything is looked at anyway."""


class Plans:
    def __init__(self) -> None:
        self._seen: asyncio.Queue[Plan] = asyncio.Queue()

    def decided(self, plan: Plan, snapshot: Snapshot, now: float) -> None:
        self._seen.put_nowait(plan)

    def seating(self, seats: Plan, snapshot: Snapshot, now: float) -> None:
        raise AssertionError("nothing is carried out")

    async def next(self) -> Plan:
        return await self._seen.get()


def loop_of(mirror: Mirror, plans: Plans, policy: Callable[[], Policy]) -> SchedulingLoop:
    return SchedulingLoop(
        mirror,
        LastVerdicts(mirror.waiting_by_group),
        Worklist(),
        policy,
        "maitred",
        (),
        (plans,),
        None,
        None,
        Metrics(),
        600.0,
    )


def test_what_only_time_can_change_is_decided_in_time_whatever_else_is_decided_meanwhile() -> None:
    """One that waits a moment before it preempts is not forgotten over another that must wait for an hour."""

    async def run() -> None:
        mirror, plans = Mirror("maitred"), Plans()
        put(mirror.state, node("n1", cpu=1), node("n2", cpu=1, labels={"kept": "yes"}))
        mirror.put_pod(watched_pod("x", cpu=1, node="n1"))
        mirror.put_pod(kept("y", "n2"))
        mirror.put_pod(young("first"))
        loop = loop_of(mirror, plans, lambda: DELAYED)
        running = asyncio.create_task(loop.run())
        await plans.next()
        mirror.put_pod(watched_pod("second", cpu=1, created=0, priority=100, where={"kept": "yes"}))
        mirror.changed.set()
        async with asyncio.timeout(SECONDS):
            while not (plan := await plans.next()).evictions:
                pass
        running.cancel()
        assert [(e.pod, e.preemptor) for e in plan.evictions] == [("default/x", "default/first")]

    asyncio.run(run())


def test_where_many_wait_all_are_seated_at_once_and_told_one_after_the_other() -> None:
    async def run() -> None:
        mirror, plans = Mirror("maitred"), Plans()
        put(mirror.state, node("n1", cpu=1))
        mirror.put_pod(watched_pod("fits", cpu=1))
        for number in range(3):
            mirror.put_pod(watched_pod(f"large-{number}", cpu=2))
        loop = loop_of(mirror, plans, Policy)
        running = asyncio.create_task(loop.run())
        async with asyncio.timeout(SECONDS):
            first = await plans.next()
            assert [bind.pod for bind in first.binds] == ["default/fits"]
            told = [verdict for verdict in first.groups if verdict.group != "default/fits"]
            assert len(told) <= 1
            while len({verdict.group for verdict in told}) < 3:
                told += [verdict for verdict in (await plans.next()).groups if verdict.blockers]
        running.cancel()
        assert {verdict.verdict for verdict in told} == {"Impossible"}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worklist, "MOST_EXPLAINED", 1)
        asyncio.run(run())


def test_of_a_group_that_changed_meanwhile_no_place_is_taken() -> None:
    """The second of its pods was made anew since the decision."""

    async def run() -> None:
        mirror = Mirror("maitred")
        put(mirror.state, node("n1", cpu=2))
        for name in "ab":
            mirror.put_pod(watched_pod(name, cpu=1, annotations=gang("g", 2)))
        loop = loop_of(mirror, Plans(), Policy)
        older = msgspec.structs.replace(seat("b", "n1"), uid="older")
        assert not loop._assume([seat("a", "n1"), older], ())
        assert (mirror.overlay.assumed, sorted(mirror.waiting)) == (0, ["default/a", "default/b"])
        assert loop._assume([seat("a", "n1"), seat("b", "n1")], ())

    asyncio.run(run())


def test_of_a_group_whose_device_another_claim_has_by_now_no_place_is_taken_and_it_is_decided_again() -> None:
    async def run() -> None:
        mirror = Mirror("maitred")
        put(mirror.state, node("n1", cpu=2))
        mirror.put_pod(watched_pod("a", cpu=1))
        loop, wanted = loop_of(mirror, Plans(), Policy), ClaimAllocation("default/ours", allocation("gpu-0"))
        theirs = {"metadata": {"name": "theirs"}, "status": {"allocation": allocation("gpu-0")}}
        mirror.put_claim(msgspec.convert(theirs, WatchedClaim))
        mirror.state.take_news()
        assert not loop._assume([seat("a", "n1")], (wanted,))
        assert mirror.overlay.assumed == 0
        assert "default/a" in mirror.state.take_news().groups
        mirror.claim_gone("default/theirs")
        assert loop._assume([seat("a", "n1")], (wanted,))

    asyncio.run(run())


def test_everything_is_looked_at_now_and_then_and_not_in_every_cycle(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = list[Worklist]()
    monkeypatch.setattr(Worklist, "look_at_everything", lambda self: looks.append(self))
    loop = loop_of(Mirror("maitred"), Plans(), Policy)
    start, seen = time.monotonic() + 601.0, list[int]()
    for seconds in (0.0, 1.0, 599.0, 600.0, 601.0):
        loop._note_the_hour(start + seconds)
        seen.append(len(looks))
    assert seen == [1, 1, 1, 2, 2]


def kept(name: str, where: str) -> WatchedPod:
    pod = watched_pod(name, cpu=1, node=where, annotations={"maitred.dev/min-runtime": "1h"})
    return msgspec.structs.replace(
        pod, status=msgspec.structs.replace(pod.status, start_time=datetime.now(UTC))
    )


def young(name: str) -> WatchedPod:
    pod = watched_pod(name, cpu=1, priority=100)
    return msgspec.structs.replace(
        pod, metadata=msgspec.structs.replace(pod.metadata, creation_timestamp=datetime.now(UTC))
    )
