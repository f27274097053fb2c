"""The laws of budgets: nothing is spent beyond them but what ran for longer than was committed for it, and no
restart changes a balance. The oracle adds up what ran, hour by hour, and has never heard of records."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from maitred.cluster.queues.book import in_queues
from maitred.decide import decide as decide_snapshot
from maitred.decide.queues.budgets import settle
from maitred.model.meta import Timestamp
from maitred.model.policy import Policy
from maitred.model.spending import NO_SPENDING, SETTLED_EVERY, SpendingMemory
from maitred.verify import verify
from tests.decide.test_later import of_group
from tests.decide.test_owners import made
from tests.oracle import builders as b
from tests.oracle.effort import examples
from tests.support import Obj, decide, policy_of, snapshot_of

BEGIN = datetime(2026, 1, 31, 20, tzinfo=UTC)
MIDNIGHT = datetime(2026, 2, 1, tzinfo=UTC)
TICK, TICKS = timedelta(minutes=30), 12
QUEUES = ("top", "one", "two")
PRICES: Obj = {
    "devices": [{"perHour": 1}],
    "hours": [
        {"from": "21:30", "until": "23:00", "factor": 2},
        {"from": "23:30", "until": "02:30", "timeZone": "Europe/Berlin", "factor": 0.25},
    ],
}
"""Twice as much from 21:30 to 23:00 UTC, and then a quarter until 01:30."""


def factor(tick: int) -> Fraction:
    """Of the half hour that begins then."""
    return Fraction(2) if 3 <= tick < 6 else Fraction(1, 4) if 6 <= tick < 11 else Fraction(1)


@dataclass(frozen=True)
class Lot:
    """A group of one pod: when it comes, and how long it really runs, in ticks; what it says of that."""

    name: str
    queue: str
    gpus: int
    comes: int
    runs: int
    limit: int

    def pod(self, start: datetime | None) -> Obj:
        marks = {"maitred.dev/queue": self.queue, "maitred.dev/max-runtime": f"{self.limit * 30}m"}
        pod = b.pod(self.name, gpu=self.gpus, node="n" if start else None, annotations=marks)
        if start is not None:
            pod["status"] = {"startTime": start.isoformat()}
        return pod


@dataclass
class Life:
    """A cluster in which groups come, start as decided, and end."""

    lots: list[Lot]
    policy: Obj
    memory: SpendingMemory = NO_SPENDING
    started: dict[str, datetime] = field(default_factory=dict)
    ended: dict[str, datetime] = field(default_factory=dict)

    def live(self, ticks: int = TICKS, crashes: frozenset[int] = frozenset()) -> None:
        """At a crash what was decided last is lost, and who leads next reads what was written before."""
        rules = policy_of(self.policy)
        for tick in range(ticks):
            now = self.end_those_who_are_done(tick)
            objects = self.objects(tick)
            plan = decide_snapshot(replace(snapshot_of(objects), spending=self.memory), rules, now)
            for bind in plan.binds:
                self.started[bind.pod.removeprefix("default/")] = now
            if tick not in crashes:
                self.memory = plan.budgets or self.memory
                self.look_again(tick, rules, now + timedelta(milliseconds=SETTLED_EVERY))

    def look_again(self, tick: int, rules: Policy, now: datetime) -> None:
        """As the Plan says: those who have started since then are seen."""
        snapshot = in_queues(replace(snapshot_of(self.objects(tick)), spending=self.memory), rules, None)
        self.memory = settle(snapshot, rules, now).memory or self.memory

    def end_those_who_are_done(self, tick: int) -> datetime:
        now = BEGIN + tick * TICK
        for lot in self.lots:
            start = self.started.get(lot.name)
            if start is not None and now >= start + lot.runs * TICK:
                self.ended.setdefault(lot.name, start + lot.runs * TICK)
        return now

    def objects(self, tick: int) -> list[Obj]:
        here = (lot for lot in self.lots if lot.comes <= tick and lot.name not in self.ended)
        return [b.node("n", gpu=64), *(lot.pod(self.started.get(lot.name)) for lot in here)]

    def spent(self, queue: str, begin: datetime, end: datetime, within_limits: bool = False) -> Fraction:
        """By the lots of a queue and of those below it, between two times; with `within_limits` not counting
        what ran for longer than it had said."""
        total = Fraction(0)
        for lot in self.lots:
            if lot.name not in self.started or (queue != "top" and lot.queue != queue):
                continue
            first = self.started[lot.name]
            last = self.ended.get(lot.name, end)
            if within_limits:
                last = min(last, first + lot.limit * TICK)
            total += self.worth(max(first, begin), min(last, end)) * lot.gpus
        return total

    def worth(self, begin: datetime, end: datetime) -> Fraction:
        """Hours, or what an hour costs of each of them."""
        total = Fraction(0)
        for tick in range((begin - BEGIN) // TICK, max(0, (end - BEGIN) // TICK + 1)):
            since, until = max(begin, BEGIN + tick * TICK), min(end, BEGIN + (tick + 1) * TICK)
            hours = Fraction(max(0, int((until - since).total_seconds())), 3600)
            total += hours * (factor(tick) if "prices" in self.policy else 1)
        return total


@st.composite
def lives(draw: st.DrawFn, enforced: bool) -> Life:
    lots = []
    for number in range(draw(st.integers(1, 8))):
        limit = draw(st.integers(1, 8))
        runs = draw(st.integers(1, limit if enforced else 2 * limit))
        queue = draw(st.sampled_from(QUEUES[1:]))
        gpus, comes = draw(st.integers(1, 4)), draw(st.integers(0, 6))
        lots.append(Lot(f"g{number}", queue, gpus, comes, runs, limit))
    budgets = [draw(st.none() | st.integers(0, 12)) for _ in QUEUES]
    queues: list[dict[str, Any]] = [
        {"name": name, "parent": "" if name == "top" else "top"} for name in QUEUES
    ]
    queues[0]["runtime"] = {"default": "1h"}
    unit = draw(st.sampled_from(["deviceHours", "money"]))
    for queue_, amount in zip(queues, budgets, strict=True):
        if amount is not None:
            queue_["budget"] = {unit: amount, "period": "day"}
    return Life(lots, {"queues": queues, **({"prices": PRICES} if unit == "money" else {})})


def budgets_in(life: Life) -> dict[str, int]:
    found = ((one["name"], one.get("budget")) for one in life.policy["queues"])
    return {
        name: budget.get("deviceHours", budget.get("money")) for name, budget in found if budget is not None
    }


DAYS = ((BEGIN, MIDNIGHT), (MIDNIGHT, BEGIN + TICKS * TICK))


CRASHES = st.frozensets(st.integers(0, TICKS - 1))


@given(lives(enforced=True), CRASHES)
@examples(8)
def test_nothing_is_overspent_where_limits_are_enforced(life: Life, crashes: frozenset[int]) -> None:
    """Whoever dies, and whenever."""
    life.live(TICKS, crashes)
    for queue, hours in budgets_in(life).items():
        if not crashes:
            assert all(life.spent(queue, *day) <= hours for day in DAYS)
        # What came and went between two crashes may be forgotten; no more than that.
        unseen = sum(lot.gpus * Fraction(lot.runs, 2) for lot in life.lots if lot.name in life.ended)
        assert all(life.spent(queue, *day) <= hours + (unseen if crashes else 0) for day in DAYS)


@given(lives(enforced=False))
@examples(8)
def test_no_more_is_overspent_than_what_ran_for_longer_than_it_said(life: Life) -> None:
    life.live()
    for queue, hours in budgets_in(life).items():
        for day in DAYS:
            late = life.spent(queue, *day) - life.spent(queue, *day, within_limits=True)
            assert life.spent(queue, *day) <= hours + late


@given(lives(enforced=False), st.integers(1, TICKS))
@examples(8)
def test_what_is_remembered_is_what_was_spent(life: Life, ticks: int) -> None:
    """Everything ends when somebody looks. The checker computes it again."""
    life.live(ticks)
    now = life.end_those_who_are_done(ticks)
    kept = b.metadata("maitred-budgets", "maitred-system")
    data = {"record": str(life.memory)} if life.memory.at is not None else {}
    objects = [
        *life.objects(ticks),
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": kept, "data": data},
    ]
    plan = decide(objects, life.policy, now.isoformat())
    assert verify(objects, plan, life.policy, now=msgspec.convert(now.isoformat(), Timestamp)) == []
    if plan["budgets"] is not None:
        told = {one["queue"]: one["spent"] for one in plan["budgets"]["queues"]}
        for queue in budgets_in(life):
            spent = life.spent(queue, MIDNIGHT if now >= MIDNIGHT else BEGIN, now)
            assert told.get(queue, 0.0) == pytest.approx(float(spent), abs=1e-6)


@given(lives(enforced=False), CRASHES)
@examples(8)
def test_a_restart_changes_no_balance_of_what_runs(life: Life, crashes: frozenset[int]) -> None:
    """Nobody ends: the same is spent, however often what was decided was lost."""
    endless = [replace(lot, runs=1_000) for lot in life.lots]
    lives_ = [Life(endless, life.policy), Life(endless, life.policy)]
    lives_[0].live()
    lives_[1].live(TICKS, crashes)
    assert lives_[0].started == lives_[1].started
    now, rules = BEGIN + TICKS * TICK + timedelta(minutes=2), policy_of(life.policy)
    rates = []
    for one in lives_:
        snapshot = replace(snapshot_of(one.objects(TICKS)), spending=one.memory)
        plan = decide_snapshot(snapshot, rules, now)
        queues = () if plan.budgets is None else plan.budgets.queues
        rates.append([(one.queue, round(one.spent, 6), one.rate) for one in queues if one.rate])
    assert rates[0] == rates[1]


# -- what stands idle ------------------------------------------------------------------------------------

IDLE_POLICY: Obj = {
    "queues": [
        {"name": "top", "budget": {"deviceHours": 40, "period": "day"}, "runtime": {"default": "2h"}},
        {"name": "one", "parent": "top", "budget": {"deviceHours": 30, "period": "week"}},
        {"name": "two", "parent": "top"},
    ]
}
NOON_OF_DAY = "2026-01-31T12:00:00Z"
PLACES = st.sampled_from(["n0", "n1"])
SECONDS = st.integers(-7200, 600)


def at_second(seconds: int) -> str:
    return (datetime.fromisoformat(NOON_OF_DAY) + timedelta(seconds=seconds)).isoformat()


def later_workers(workers: int, gpus: int, place: str) -> list[Obj]:
    """A leader that runs, and an owner that creates workers with devices once it is ready: room is kept."""
    template = {"spec": {"containers": [{"name": "main", "resources": {"limits": {b.GPU: str(gpus)}}}]}}
    worker_template = {"size": workers + 1, "workerTemplate": template}
    spec = {"replicas": 1, "startupPolicy": "LeaderReady", "leaderWorkerTemplate": worker_template}
    leader = of_group(0, place, annotations={"maitred.dev/queue": "one"})
    leader["metadata"]["creationTimestamp"] = at_second(-600)
    leader["status"] = {"phase": "Running", "startTime": at_second(-600)}
    return [made("LeaderWorkerSet", "s", spec), leader]


@st.composite
def worlds_with_promises(draw: st.DrawFn) -> list[Obj]:
    """Nodes that work or do not, pods that run, leave, or were promised places; and what was written down."""
    objects = [
        b.node(name, gpu=8, cordoned=draw(st.booleans()), ready=draw(st.sampled_from([True, True, False])))
        for name in ("n0", "n1")
    ]
    objects.append(b.pod_group("gang", 3))
    for number in range(draw(st.integers(0, 5))):
        marks = {"maitred.dev/queue": draw(st.sampled_from(["one", "two", "default"]))}
        gpus, runs = draw(st.integers(0, 5)), draw(st.booleans())
        pod = b.pod(f"p{number}", gpu=gpus, node=draw(PLACES) if runs else None, annotations=marks)
        status = pod.setdefault("status", {})
        if runs:
            pod["metadata"]["creationTimestamp"] = at_second(draw(SECONDS))
            said = {"type": "PodScheduled", "status": "True", "lastTransitionTime": at_second(draw(SECONDS))}
            status["conditions"] = [said] if draw(st.booleans()) else []
            status |= {"startTime": at_second(draw(SECONDS))} if draw(st.booleans()) else {}
            if draw(st.booleans()):
                pod["metadata"]["deletionTimestamp"] = at_second(draw(st.integers(0, 60)))
        else:
            status |= {"nominatedNodeName": draw(PLACES)} if draw(st.booleans()) else {}
            if draw(st.booleans()):
                pod["spec"]["schedulingGroup"] = {"podGroupName": "gang"}
        objects.append(pod)
    if draw(st.booleans()):
        objects += later_workers(draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(PLACES))
    if draw(st.booleans()):
        amounts = st.floats(0, 20, allow_subnormal=False)
        rows = [
            {"queue": name, "unit": "device-hours", "begun": draw(st.sampled_from(BEGUN[name]))}
            | {key: draw(amounts) for key in ("spent", "rate", "committed", "kept", "idle")}
            for name in ("top", "one")
        ]
        text = msgspec.json.encode({"at": at_second(draw(SECONDS)), "queues": rows}).decode()
        meta = b.metadata("maitred-budgets", "maitred-system", {"maitred.dev/record": "budgets"})
        objects.append({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": {"record": text}})
    return objects


BEGUN = {
    "top": ["2026-01-31T00:00:00Z", "2026-01-30T00:00:00Z"],
    "one": ["2026-01-26T00:00:00Z", "2026-01-19T00:00:00Z"],
}


@given(worlds_with_promises())
@examples(25)
def test_the_checker_agrees_on_who_pays_for_what(objects: list[Obj]) -> None:
    """From bind to release, and for what stands idle."""
    plan = decide(objects, IDLE_POLICY, now=NOON_OF_DAY)
    now = msgspec.convert(NOON_OF_DAY, Timestamp)
    found = [str(one) for one in verify(objects, plan, IDLE_POLICY, now=now)]
    assert [
        one for one in found if any(word in one for word in ("budget", "device-hours", "stand idle"))
    ] == []
