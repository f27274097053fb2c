"""Laws of holds, on clusters that live on from cycle to cycle.

Ends are upper bounds: every pod leaves at its limit, or before. Nothing that ranks higher arrives. Then a
group that has a hold starts no later than was reckoned when it got it, no Plan breaks a law, and in the end
everybody has run.
"""

from dataclasses import dataclass, field
from datetime import datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.decide.holding import after_noon, judged, remembered
from tests.oracle import builders as b
from tests.support import Obj, decide

RACK = "example.com/rack"
NODES = [b.node(f"n{i}", cpu=4, labels={RACK: f"r{i // 2}"}) for i in range(4)]


@dataclass(frozen=True)
class Workload:
    name: str
    arrives: int
    members: int
    cpu: int
    limit: int | None
    """In minutes, as are all times; None: nobody ends it."""
    runs: int
    rack: bool


@dataclass
class Cluster:
    """Time goes from one event to the next; whatever a Plan says is done at once."""

    jobs: list[Workload]
    policy: Obj
    now: int = 0
    started: dict[str, tuple[int, list[str]]] = field(default_factory=dict)
    planned: Obj | None = None
    wakes: set[int] = field(default_factory=set)
    promised: dict[str, str] = field(default_factory=dict)

    def objects(self) -> list[Obj]:
        found = [*NODES]
        for job in self.jobs:
            if job.arrives <= self.now and not self._is_over(job):
                found += self._of(job)
        return found + ([] if self.planned is None else [remembered(self.planned)])

    def _is_over(self, job: Workload) -> bool:
        return job.name in self.started and self.started[job.name][0] + job.runs <= self.now

    def _of(self, job: Workload) -> list[Obj]:
        level, created = RACK if job.rack else None, after_noon(job.arrives)
        found = [b.pod_group(job.name, min_count=job.members, topology=level, created=created)]
        begun, nodes = self.started.get(job.name, (0, []))
        for index in range(job.members):
            node = nodes[index] if nodes else None
            pod = b.pod(f"{job.name}-{index}", cpu=job.cpu, group=job.name, node=node)
            pod["metadata"]["creationTimestamp"] = after_noon(job.arrives)
            if job.limit is not None:
                pod["spec"]["activeDeadlineSeconds"] = job.limit * 60
            if nodes:
                pod["status"] = {"phase": "Running", "startTime": after_noon(begun)}
            found.append(pod)
        return found

    def run(self) -> None:
        while len(self.started) < len(self.jobs):
            times = {job.arrives for job in self.jobs} | self.wakes
            times |= {begun + job.runs for job in self.jobs for begun, _ in self._begun(job)}
            self.now = min(time for time in times if time > self.now) if self.now or self.planned else 0
            while self.cycle():
                pass
            self.planned = self.planned or {"policy": "", "holds": []}

    def _begun(self, job: Workload) -> list[tuple[int, list[str]]]:
        return [self.started[job.name]] if job.name in self.started else []

    def cycle(self) -> bool:
        """Whether anybody started."""
        world, now = self.objects(), after_noon(self.now)
        plan = decide(world, self.policy, now)
        assert judged(world, plan, self.policy, now) == []
        assert plan["evictions"] == []
        self.planned = plan["planned"] or self.planned
        if plan["wakeAt"]:
            wakes = (
                datetime.fromisoformat(plan["wakeAt"]) - datetime.fromisoformat(after_noon(0))
            ).total_seconds()
            self.wakes.add(max(self.now + 1, -int(-wakes // 60)))
        seats = dict[str, list[tuple[str, str]]]()
        for bind in plan["binds"]:
            seats.setdefault(bind["group"].partition("/")[2], []).append((bind["pod"], bind["node"]))
        for group, places in seats.items():
            assert now <= self.promised.get(group, now), "a hold was not kept"
            self.started[group] = (self.now, [node for _, node in sorted(places)])
        for hold in plan["planned"]["holds"] if plan["planned"] else ():
            assert hold["moved"] == ""
            if hold["basis"] == "limits":
                group = hold["group"].partition("/")[2]
                assert hold["begins"] <= self.promised.setdefault(group, hold["begins"])
        return bool(seats)


@st.composite
def workloads(draw: st.DrawFn, ends: bool) -> list[Workload]:
    found = []
    for number in range(draw(st.integers(4, 8))):
        limit = draw(st.integers(1, 12)) * 5 if ends or draw(st.booleans()) else None
        found.append(
            Workload(
                name=f"g{number}",
                arrives=draw(st.sampled_from([0, 0, 5, 20])),
                members=draw(st.integers(1, 3)),
                cpu=draw(st.sampled_from([1, 2, 4])),
                limit=limit,
                runs=draw(st.integers(1, limit or 60)),
                rack=draw(st.booleans()),
            )
        )
    return [job for job in found if not (job.rack and job.members * job.cpu > 8)]


@settings(max_examples=25)
@given(jobs=workloads(ends=True), depth=st.sampled_from([1, 2, 500]))
def test_a_group_starts_no_later_than_its_hold_said_and_everybody_runs(
    jobs: list[Workload], depth: int
) -> None:
    cluster = Cluster(jobs, {"holds": {"depth": depth}})
    cluster.run()
    assert len(cluster.started) == len(jobs)


@settings(max_examples=25)
@given(jobs=workloads(ends=False), idle=st.sampled_from([0.0, 1.0, 1000.0]))
def test_where_ends_are_not_known_everybody_runs_too(jobs: list[Workload], idle: float) -> None:
    cluster = Cluster(jobs, {"holds": {"depth": 2, "after": "10m", "idle": idle}})
    cluster.run()
    assert len(cluster.started) == len(jobs)
