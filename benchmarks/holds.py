"""Holds for 20 of 500 groups that wait for 3,000 that run: cycles that reckon all of them anew, and cycles in
which nothing has happened that matters to a hold."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial

from benchmarks.clusters import rack_of, zone_of
from benchmarks.figures import Figure, Goal, Work, in_turns
from benchmarks.loading import NOW, loaded, read
from benchmarks.objects import H100, NAMESPACE, Obj, Template, job_pod, node, pod_group
from maitred.cluster.state import Put
from maitred.decide import Scope, decide
from maitred.model.holding import HOLDS, HoldMemory
from maitred.model.memory import CONTENT, HOME, MemoryObject
from maitred.model.meta import ObjectMeta
from maitred.model.policy import Holds, Policy

REPEATS = 5
START = "2026-01-31T08:00:00Z"
MINUTE = 60


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    pairs: int
    """Running groups of two nodes; the others have one."""
    free: int
    """Nodes on which nobody is."""
    large: int
    """Groups that wait, each for a whole rack."""
    small: int

    @property
    def case(self) -> str:
        running = self.pairs + self.nodes - self.free - 2 * self.pairs
        waiting = self.large + self.small
        return f"{self.large} holds, {self.nodes:,} nodes, {running:,} running, {waiting} waiting groups"


FULL, QUICK = Size(5_000, 1_980, 20, 20, 480), Size(320, 120, 8, 4, 30)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    policy, none = Policy(holds=Holds(depth=size.large)), Policy()
    state = loaded(cluster(size)).state
    first = state.snapshot()
    plan = decide(first, policy, NOW)
    assert plan.planned is not None
    assert len(plan.planned.holds) == size.large, "every large group has a hold"
    assert not plan.binds, "nobody may start"
    state.apply(Put(remembered(plan.planned)))
    later = state.snapshot()
    assert decide(later, policy, NOW).planned is None, "no hold moves"
    for one in read(gang("visitor", 1, H100.gpus, 60, rack_bound=False)):
        state.apply(Put(one))
    visited = state.snapshot()
    touched = Scope(groups={f"{NAMESPACE}/visitor"})
    assert decide(visited, policy, NOW, touched).binds, "who ends in time, or sits beside them, starts"
    works = [
        Work(partial(decide, first, policy, NOW, seats_only())),
        Work(partial(decide, later, policy, NOW, seats_only())),
        Work(partial(decide, visited, policy, NOW, touched)),
        Work(partial(decide, first, none, NOW, seats_only())),
        Work(partial(decide, visited, none, NOW, touched)),
    ]
    made, kept, beside, without, touched_without = in_turns(works, REPEATS)
    return [
        Figure(size.case, "decide, all holds are made", "s", made, goal=Goal(1.0)),
        Figure(size.case, "decide, all holds are reckoned anew", "s", kept, goal=Goal(1.0)),
        Figure(size.case, "decide, one group came, holds stay", "s", beside, goal=Goal(0.05)),
        Figure(size.case, "the first without holds", "s", without),
        Figure(size.case, "the third without holds", "s", touched_without),
    ]


def seats_only() -> Scope:
    """What is in the way of groups is found out for few of them in a cycle, and takes its own time."""
    return Scope(explained=())


def remembered(holds: HoldMemory) -> MemoryObject:
    return MemoryObject(ObjectMeta(name=HOLDS, namespace=HOME), data={CONTENT: str(holds)})


def cluster(size: Size) -> Iterator[Obj]:
    """Every running group has its own end. The nodes that are free are far from each other."""
    taken, number = size.nodes - size.free, 0
    for place in range(size.nodes):
        name, rack = f"gpu-{place:05}", rack_of(place, size.nodes)
        yield node(name, f"rack-{rack:04}", zone_of(rack), H100)
        if place % (size.nodes // size.free) == 0:
            continue
        pair, half = divmod(number, 2)
        group = pair if pair < size.pairs else number - size.pairs
        pod = job_pod(f"run-{group:04}", half, Template(gpus=H100.gpus), f"run-{group:04}", node_name=name)
        pod["spec"]["activeDeadlineSeconds"] = 5 * 3600 + (group * 7919 % 3_000) * MINUTE
        pod["status"]["startTime"] = START
        yield pod
        number += 1
    for group in range(size.pairs + taken - 2 * size.pairs):
        yield pod_group(f"run-{group:04}", 1)
    for number in range(size.large):
        yield from gang(f"large-{number:04}", 16, H100.gpus, 24 * 60, rack_bound=True)
    for number in range(size.small):
        yield from gang(f"small-{number:04}", size.free + 1, H100.gpus, 60 + number, rack_bound=False)


def gang(name: str, members: int, gpus: int, minutes: int, rack_bound: bool) -> Iterator[Obj]:
    yield pod_group(name, members, rack_bound=rack_bound)
    for index in range(members):
        pod = job_pod(name, index, Template(gpus=gpus), name)
        pod["spec"]["activeDeadlineSeconds"] = minutes * MINUTE
        yield pod
