"""Laws of booked starts, on clusters that live on from cycle to cycle.

Ends are upper bounds: every pod leaves at its limit, or before. Higher priorities come at any time. Then
every start that was booked is kept, and no Plan breaks a law. Where nodes break, every promise that is broken
has its cause.
"""

from dataclasses import dataclass, field
from datetime import datetime
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.decide.booking import START_BY, kept
from tests.decide.holding import after_noon, judged
from tests.oracle import builders as b
from tests.support import Obj, decide

RACK = "example.com/rack"
NODES = [b.node(f"n{i}", cpu=4, labels={RACK: f"r{i // 2}"}) for i in range(4)]
HORIZON = 6 * 60
HOUR, WEEK = 60, 7 * 24 * 60


@dataclass(frozen=True)
class Work:
    name: str
    arrives: int
    members: int
    cpu: int
    limit: int
    """In minutes, as are all times."""
    runs: int
    rack: bool
    priority: int
    by: int | None
    """How long after its arrival it wants to have started; None: it does not say."""


@dataclass
class LivingCluster:
    """Time goes from one event to the next; whatever a Plan says is done at once."""

    jobs: list[Work]
    policy: Obj
    breaks: dict[str, int] = field(default_factory=dict)
    """Nodes, and when they break for good."""
    horizon: int = HORIZON
    is_judged: bool = True
    now: int = -1
    started: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    memory: Obj | None = None
    wakes: set[int] = field(default_factory=set)
    promised: dict[str, str] = field(default_factory=dict)
    kept: set[str] = field(default_factory=set)
    broken: dict[str, str] = field(default_factory=dict)

    def objects(self) -> list[Obj]:
        found = [node for node in NODES if self.breaks.get(node["metadata"]["name"], self.horizon) > self.now]
        for job in self.jobs:
            if job.arrives <= self.now and not self._is_over(job):
                found += self._of(job)
        return found + ([] if self.memory is None else [kept(self.memory)])

    def _is_over(self, job: Work) -> bool:
        if job.name not in self.started:
            return False
        begun, nodes = self.started[job.name]
        lost = any(self.breaks.get(node, self.horizon) <= self.now for node in nodes)
        return lost or begun + job.runs <= self.now

    def _of(self, job: Work) -> list[Obj]:
        level, created = RACK if job.rack else None, after_noon(job.arrives)
        found = [b.pod_group(job.name, min_count=job.members, topology=level, created=created)]
        begun, nodes = self.started.get(job.name, (0, []))
        for index in range(job.members):
            node = nodes[index] if nodes else None
            pod = b.pod(f"{job.name}-{index}", cpu=job.cpu, group=job.name, node=node, priority=job.priority)
            pod["metadata"]["creationTimestamp"] = created
            if job.by is not None:
                marks = pod["metadata"].setdefault("annotations", {})
                marks[START_BY] = after_noon(job.arrives + job.by)
            pod["spec"]["activeDeadlineSeconds"] = job.limit * 60
            if nodes:
                pod["status"] = {"phase": "Running", "startTime": after_noon(begun)}
            found.append(pod)
        return found

    def run(self) -> None:
        while True:
            times = {job.arrives for job in self.jobs} | self.wakes | set(self.breaks.values())
            times |= {self.started[job.name][0] + job.runs for job in self.jobs if job.name in self.started}
            later = [time for time in times if self.now < time < self.horizon]
            if not later:
                return
            self.now = min(later)
            while self.cycle():
                pass

    def cycle(self) -> bool:
        """Whether anybody started."""
        world, now = self.objects(), after_noon(self.now)
        plan = decide(world, self.policy, now)
        assert not self.is_judged or judged(world, plan, self.policy, now) == []
        if plan["bookings"] is not None:
            self._note(plan["bookings"])
        if plan["wakeAt"]:
            wakes = datetime.fromisoformat(plan["wakeAt"]) - datetime.fromisoformat(after_noon(0))
            self.wakes.add(max(self.now + 1, -int(-wakes.total_seconds() // 60)))
        seats = dict[str, list[tuple[str, str]]]()
        for bind in plan["binds"]:
            seats.setdefault(bind["group"].partition("/")[2], []).append((bind["pod"], bind["node"]))
        for group, places in seats.items():
            if group not in self.broken:
                assert now <= self.promised.get(group, now), "a booked start was not kept"
            self.started[group] = (self.now, [node for _, node in sorted(places)])
        return bool(seats)

    def _note(self, memory: Obj) -> None:
        for one in memory["ended"]:
            name = one["group"].partition("/")[2]
            if one["kept"]:
                self.kept.add(name)
            else:
                assert one["cause"]
                assert one["who"]
                self.broken.setdefault(name, one["cause"])
        for one in memory["bookings"]:
            name = one["group"].partition("/")[2]
            if name not in self.broken:
                assert self.promised.setdefault(name, one["at"]) == one["at"], "a promise was changed"
        self.memory = memory


@st.composite
def works(draw: st.DrawFn) -> list[Work]:
    found = []
    for number in range(draw(st.integers(5, 8))):
        limit = draw(st.integers(1, 12)) * 5
        found.append(
            Work(
                name=f"g{number}",
                arrives=draw(st.sampled_from([0, 0, 0, 5, 20])),
                members=draw(st.sampled_from([1, 2, 2, 3])),
                cpu=draw(st.sampled_from([2, 3, 4])),
                limit=limit,
                runs=draw(st.integers(1, limit)),
                rack=draw(st.booleans()),
                priority=draw(st.sampled_from([0, 0, 10])),
                by=draw(st.sampled_from([None, 20, 60, 120, 240])),
            )
        )
    return [job for job in found if not (job.rack and job.members * job.cpu > 8)]


POLICY: Obj = {"bookings": 3, "preemption": {"mode": "never"}}


@settings(max_examples=12)
@given(jobs=works(), depth=st.sampled_from([0, 2]))
def test_every_booked_start_is_kept(jobs: list[Work], depth: int) -> None:
    cluster = LivingCluster(jobs, {**POLICY, "holds": {"depth": depth}})
    cluster.run()
    assert cluster.broken == {}
    assert cluster.kept == set(cluster.promised)
    assert {one.name for one in jobs} == set(cluster.started)


@settings(max_examples=8)
@given(jobs=works(), when=st.integers(1, 60), nodes=st.sampled_from([("n0",), ("n0", "n1"), ("n1", "n3")]))
def test_where_nodes_break_every_broken_promise_has_its_cause(
    jobs: list[Work], when: int, nodes: tuple[str, ...]
) -> None:
    cluster = LivingCluster(jobs, POLICY, breaks=dict.fromkeys(nodes, when))
    cluster.run()
    assert set(cluster.broken.values()) <= {"capacity"}
    told = cluster.kept | set(cluster.broken)
    assert {name for name in cluster.promised if name in cluster.started} <= told


def a_week(seed: int) -> list[Work]:
    """Nodes have more work than they can do, of all sizes and priorities; jobs end before their limits."""
    random, found = Random(seed), list[Work]()
    for number in range(75):
        limit = random.choice([1, 2, 4, 8, 12]) * HOUR
        found.append(
            Work(
                name=f"g{number}",
                arrives=random.randrange(WEEK - 2 * 24 * HOUR),
                members=random.choice([1, 1, 2, 3, 4]),
                cpu=random.choice([2, 4]),
                limit=limit,
                runs=random.randint(limit // 3, limit),
                rack=False,
                priority=random.choice([0, 0, 0, 10]),
                by=random.choice([None, 12 * HOUR, 48 * HOUR]),
            )
        )
    return found


def test_in_a_week_without_failures_every_booked_start_is_kept() -> None:
    cluster = LivingCluster(a_week(21), POLICY, horizon=3 * WEEK, is_judged=False)
    cluster.run()
    assert len(cluster.promised) > 10
    assert cluster.broken == {}
    assert cluster.kept == set(cluster.promised)


def test_in_a_week_in_which_nodes_break_each_broken_one_has_its_cause() -> None:
    breaks = {"n0": 24 * HOUR, "n2": 72 * HOUR}
    cluster = LivingCluster(a_week(22), POLICY, breaks=breaks, horizon=3 * WEEK, is_judged=False)
    cluster.run()
    assert len(cluster.promised) > 10
    assert set(cluster.broken.values()) == {"capacity"}
