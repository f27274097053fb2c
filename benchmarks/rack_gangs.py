"""Gangs that must each be in one rack, at 5,000 nodes: how many pods are decided per second."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.clusters import training_cluster
from benchmarks.figures import Figure, Goal, Work, in_turns
from benchmarks.floors import free_of, request_of, seat_in_one_domain
from benchmarks.loading import NOW, Loaded, loaded
from benchmarks.objects import RACK, Obj, Template, job_pod, pod_group
from maitred.cluster.snapshot import Snapshot
from maitred.decide import decide
from maitred.model.group import PodGroup
from maitred.model.pod import Pod
from maitred.model.policy import Policy

REPEATS = 5


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    gangs: int
    members: int

    @property
    def case(self) -> str:
        return f"{self.gangs} rack-bound gangs × {self.members} pods, {self.nodes:,} nodes"


FULL, QUICK = Size(5_000, 100, 64), Size(320, 6, 64)


def run(quick: bool) -> list[Figure]:
    size = QUICK if quick else FULL
    cluster = loaded(objects(size))
    snapshot = cluster.state.snapshot()
    check(snapshot, size)
    return [*decisions(snapshot, size), *snapshots(cluster, snapshot, size)]


def decisions(snapshot: Snapshot, size: Size) -> list[Figure]:
    """With what earlier decisions derived from the nodes, and without it."""
    forgetful = Work(
        lambda: decide(replace(snapshot, nodes=replace(snapshot.nodes, cache={})), Policy(), NOW)
    )
    usual, floor = Work(lambda: decide(snapshot, Policy(), NOW)), Work(lambda: bare(snapshot, size))
    warm, cold, least = (
        seconds.rate(size.gangs * size.members) for seconds in in_turns([usual, forgetful, floor], REPEATS)
    )
    goal = Goal(100_000, at_least=True)
    return [
        Figure(size.case, "decide", "pods/s", warm, least, goal, rate=True),
        Figure(size.case, "decide, first after a node changed", "pods/s", cold, least, rate=True),
    ]


def snapshots(cluster: Loaded, snapshot: Snapshot, size: Size) -> list[Figure]:
    everything = len(cluster.objects)
    one = Work(cluster.state.snapshot, lambda: cluster.put(Pod, everything))
    few = Work(cluster.state.snapshot, lambda: cluster.put(PodGroup, 1))
    some, every, least = (
        seconds.times(1e3) for seconds in in_turns([few, one, Work(lambda: bare_snapshot(snapshot))], REPEATS)
    )
    return [
        Figure(size.case, "snapshot after one group changed", "ms", some, least),
        Figure(size.case, "snapshot after every pod changed", "ms", every, least),
    ]


def objects(size: Size) -> Iterator[Obj]:
    yield from training_cluster(size.nodes, random.Random(1), busy=0.4)
    for number in range(size.gangs):
        name = f"train-{number:03}"
        yield pod_group(name, size.members, rack_bound=True)
        for index in range(size.members):
            yield job_pod(name, index, Template(), name)


def check(snapshot: Snapshot, size: Size) -> None:
    """A figure for a wrong answer would be worth nothing."""
    plan = decide(snapshot, Policy(), NOW)
    assert len(plan.binds) == size.gangs * size.members, "every gang is seated"
    assert all(RACK in group.domains for group in plan.groups), "each in one rack"


def bare(snapshot: Snapshot, size: Size) -> None:
    free, codes = free_of(snapshot), snapshot.nodes.column(RACK).codes
    request = request_of(snapshot, int(snapshot.groups[0].shapes[0]))
    for _ in range(size.gangs):
        seat_in_one_domain(free, codes, request, size.members)


def bare_snapshot(snapshot: Snapshot) -> list[object]:
    """Copies of the columns that a snapshot has for itself."""
    bound = snapshot.bound
    columns = (
        snapshot.used,
        snapshot.fixed,
        bound.node,
        bound.needs,
        bound.labels,
        bound.terminating,
        bound.fixed,
    )
    return [np.copy(column) for column in columns]
