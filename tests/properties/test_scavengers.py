"""The laws of those who run without paying: they commit nothing, nobody leaves for them, whoever pays has
their places, and when nothing new arrives, evictions come to an end. Who pays is followed here once more."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.decide import decide as decide_snapshot
from maitred.model.meta import Timestamp
from maitred.model.plan import Plan
from maitred.model.spending import NO_SPENDING, SpendingMemory
from maitred.verify import verify
from tests.oracle import builders as b
from tests.oracle.effort import examples
from tests.support import Obj, policy_of, snapshot_of

BEGIN = datetime(2026, 1, 31, 20, tzinfo=UTC)
MIDNIGHT = datetime(2026, 2, 1, tzinfo=UTC)
TICK, TICKS, QUIET = timedelta(minutes=30), 10, 12
GPUS = 8
PAYING, OTHER = "team", "other"


@dataclass(frozen=True)
class Lot:
    """A group that starts as a whole."""

    name: str
    queue: str
    gpus: int
    """Of each member."""
    priority: int
    comes: int
    runs: int
    members: int = 1

    @property
    def devices(self) -> int:
        return self.gpus * self.members

    def pods(self, start: datetime | None, uid: int) -> list[Obj]:
        marks = {"maitred.dev/queue": self.queue} | (
            b.gang(self.name, self.members) if self.members > 1 else {}
        )
        found = []
        for member in range(self.members):
            name = f"{self.name}-{member}" if self.members > 1 else self.name
            node = "n" if start else None
            pod = b.pod(name, gpu=self.gpus, priority=self.priority, node=node, annotations=marks)
            pod["metadata"]["uid"] = f"{name}/{uid}"
            pod["status"] = {"startTime": start.isoformat()} if start else {}
            found.append(pod)
        return found


def group_of(key: str) -> str:
    return key.removeprefix("default/").partition("-")[0]


@dataclass
class Life:
    """A node on which groups come, start as decided, leave for others and come again, and end."""

    lots: list[Lot]
    hours: int
    memory: SpendingMemory = NO_SPENDING
    tries: dict[str, int] = field(default_factory=dict)
    started: dict[str, datetime] = field(default_factory=dict)
    free: set[str] = field(default_factory=set)
    """Those that run without paying, as the Plans said when they were bound."""
    ran: list[tuple[str, datetime, datetime, int]] = field(default_factory=list)
    """Queue, start, end and devices of those that paid and are gone."""
    done: set[str] = field(default_factory=set)

    @property
    def policy(self) -> Obj:
        budget = {"deviceHours": self.hours, "period": "day", "onSpent": "scavenge"}
        team = {"name": PAYING, "budget": budget, "runtime": {"default": "2h"}}
        return {"queues": [team, {"name": OTHER}]}

    def objects(self, tick: int) -> list[Obj]:
        found = [b.node("n", gpu=GPUS)]
        for lot in self.lots:
            if lot.comes <= tick and lot.name not in self.done:
                found += lot.pods(self.started.get(lot.name), self.tries.get(lot.name, 0))
        data = {"record": str(self.memory)} if self.memory.at is not None else {}
        meta = b.metadata("maitred-budgets", "maitred-system")
        return [*found, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}]

    def step(self, tick: int, now: datetime) -> Plan:
        objects = self.objects(tick)
        plan = decide_snapshot(
            replace(snapshot_of(objects), spending=self.memory), policy_of(self.policy), now
        )
        at = msgspec.convert(now.isoformat(), Timestamp)
        said = msgspec.json.decode(msgspec.json.encode(plan))
        assert [str(one) for one in verify(objects, said, self.policy, now=at)] == []
        self.judge(plan)
        self.memory = plan.budgets or self.memory
        unpaid = {pod for one in self.memory.scavengers for pod in one.pods}
        for name in dict.fromkeys(group_of(eviction.pod) for eviction in plan.evictions):
            self.leave(name, now)
        for bind in plan.binds:
            name = group_of(bind.pod)
            self.started[name] = now
            if bind.uid in unpaid:
                self.free.add(name)
        return plan

    def judge(self, plan: Plan) -> None:
        """Nobody who pays leaves for somebody who does not, nor for anybody by this cause."""
        for eviction in plan.evictions:
            victim = group_of(eviction.pod)
            assert (eviction.cause == "Budget") == (victim in self.free)
            assert eviction.preemptor.removeprefix("default/") not in self.free

    def leave(self, name: str, now: datetime) -> None:
        (lot,) = (one for one in self.lots if one.name == name)
        start = self.started.pop(name)
        if name not in self.free:
            self.ran.append((lot.queue, start, now, lot.devices))
        self.free.discard(name)
        self.tries[name] = self.tries.get(name, 0) + 1

    def live(self) -> datetime:
        for tick in range(TICKS):
            now = BEGIN + tick * TICK
            for lot in self.lots:
                start = self.started.get(lot.name)
                if start is not None and now >= start + lot.runs * TICK:
                    self.leave(lot.name, now)
                    self.done.add(lot.name)
            self.step(tick, now)
            self.step(tick, now + timedelta(minutes=1))
        return BEGIN + (TICKS - 1) * TICK + timedelta(minutes=2)

    def spent(self, now: datetime) -> float:
        """By those who paid, since the day began."""
        here = ((one.queue, self.started.get(one.name), now, one.devices) for one in self.lots)
        paying = [
            one
            for lot, one in zip(self.lots, here, strict=True)
            if one[1] is not None and lot.name not in self.free
        ]
        total = Fraction(0)
        for queue, start, end, gpus in (*self.ran, *paying):
            if queue == PAYING and start is not None:
                seconds = max(
                    0, int((end - max(start, MIDNIGHT if now >= MIDNIGHT else BEGIN)).total_seconds())
                )
                total += Fraction(seconds, 3600) * gpus
        return float(total)


@st.composite
def lives(draw: st.DrawFn) -> Life:
    def lot(number: int) -> Lot:
        sizes: dict[str, Any] = {
            "gpus": draw(st.integers(1, 3)),
            "members": draw(st.integers(1, 3)),
            "priority": draw(st.integers(-1, 1)),
            "comes": draw(st.integers(0, TICKS - 1)),
            "runs": draw(st.integers(1, 6)),
        }
        return Lot(f"g{number}", draw(st.sampled_from((PAYING, PAYING, OTHER))), **sizes)

    return Life([lot(number) for number in range(draw(st.integers(2, 7)))], draw(st.integers(0, 10)))


@given(lives())
@examples(12)
def test_those_who_do_not_pay_are_in_nobodys_way(life: Life) -> None:
    now = life.live()
    if life.memory.at is not None:
        told = {one.queue: one.spent for one in life.memory.queues}
        assert told.get(PAYING, 0.0) <= life.spent(now) + 1e-6
    plans = [life.step(TICKS, now + number * timedelta(seconds=1)) for number in range(QUIET)]
    assert not plans[-1].evictions
    assert not plans[-1].binds
    room = GPUS - sum(lot.devices for lot in life.lots if lot.name in life.started)
    yields = sum(lot.devices for lot in life.lots if lot.name in life.free)
    for lot in life.lots:
        if lot.queue == OTHER and lot.name not in life.started and lot.name not in life.done:
            assert lot.devices > room + yields


def test_a_budget_that_pays_for_nothing_is_never_spent() -> None:
    """All of its groups run for nothing, one after the other."""
    life = Life([Lot(f"g{n}", PAYING, 4, 0, 0, 2) for n in range(6)], 0)
    now = life.live()
    assert len(life.done) == 6
    assert life.spent(now) == 0
    assert life.memory.queues == ()


def test_what_is_remembered_of_those_who_pay_is_what_they_spent() -> None:
    """Beside those who do not."""
    life = Life([Lot("a", PAYING, 4, 0, 0, 100), Lot("b", PAYING, 4, 0, 0, 100)], 8)
    now = life.live()
    assert life.free == {"b"}
    life.step(TICKS, now)
    told = {one.queue: one.spent for one in life.memory.queues}
    assert told[PAYING] == pytest.approx(life.spent(now), abs=1e-6)
