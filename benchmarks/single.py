"""One group at a time: a very large gang, and gangs for which it has to be proven that they can never run."""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.clusters import training_cluster
from benchmarks.figures import Figure, Goal, Work, in_turns
from benchmarks.floors import Request, copies_of, free_of, request_of, seat_anywhere
from benchmarks.loading import NOW, loaded
from benchmarks.objects import RACK, Obj, Template, job_pod, pod_group
from maitred.cluster.snapshot import Snapshot
from maitred.decide import decide
from maitred.model.policy import Policy

REPEATS = 5


def large_gang(quick: bool) -> list[Figure]:
    nodes, members = (500, 100) if quick else (10_000, 1_000)
    gang = Gang("large", ((Template(), members),), rack_bound=False)
    snapshot = snapshot_with(gang, nodes, busy=0.4)
    plan = decide(snapshot, Policy(), NOW)
    assert len(plan.binds) == members, "the gang is seated"
    request = request_of(snapshot, int(snapshot.groups[0].shapes[0]))
    decided, floor = in_turns(
        [
            Work(lambda: decide(snapshot, Policy(), NOW)),
            Work(lambda: seat_anywhere(free_of(snapshot), snapshot.nodes.alive, request, members)),
        ],
        REPEATS,
    )
    case = f"One gang of {members:,} pods, {nodes:,} nodes"
    return [Figure(case, "decide", "ms", decided.times(1e3), floor.times(1e3), Goal(5))]


@dataclass(frozen=True, slots=True)
class Gang:
    name: str
    parts: tuple[tuple[Template, int], ...]
    rack_bound: bool = True

    def objects(self) -> Iterator[Obj]:
        size, index = sum(count for _, count in self.parts), 0
        yield pod_group(self.name, size, self.rack_bound)
        for template, count in self.parts:
            for _ in range(count):
                yield job_pod(self.name, index, template, self.name)
                index += 1


WORKER, EVALUATOR, LEADER = Template(), Template("12", "96Gi", 1), Template("4", "16Gi", 0)
HOPELESS = {
    "one shape": Gang("one", ((WORKER, 256),)),
    "two shapes, one of them too many": Gang("two", ((LEADER, 1), (WORKER, 256))),
    "two shapes, too many only together": Gang("both", ((WORKER, 120), (EVALUATOR, 120))),
}
"""No rack has more than 192 GPUs."""


def impossible(quick: bool) -> list[Figure]:
    nodes = 320 if quick else 5_000
    case = f"The verdict Impossible, {nodes:,} nodes"
    return [hopeless(case, what, gang, nodes) for what, gang in HOPELESS.items()]


def hopeless(case: str, what: str, gang: Gang, nodes: int) -> Figure:
    snapshot = snapshot_with(gang, nodes, busy=0.4)
    verdict = decide(snapshot, Policy(), NOW).groups[0].verdict
    decided, floor = in_turns(
        [Work(lambda: decide(snapshot, Policy(), NOW)), Work(lambda: bare_proof(snapshot))], REPEATS
    )
    note = "" if verdict == "Impossible" else f" (says {verdict})"
    return Figure(case, what + note, "ms", decided.times(1e3), floor.times(1e3), Goal(100))


def snapshot_with(gang: Gang, nodes: int, busy: float) -> Snapshot:
    cluster = list(training_cluster(nodes, random.Random(3), busy))
    return loaded([*cluster, *gang.objects()]).state.snapshot()


def bare_proof(snapshot: Snapshot) -> bool:
    """Whether no rack has room for the smallest member as often as there are members, empty or as it is."""
    codes, shapes = snapshot.nodes.column(RACK).codes, np.unique(snapshot.groups[0].shapes)
    requests = [request_of(snapshot, int(shape)) for shape in shapes]
    members = len(snapshot.groups[0].shapes)
    return all(
        most_in_one_domain(free, codes, requests) < members
        for free in (free_of(snapshot), snapshot.nodes.allocatable - snapshot.fixed)
    )


def most_in_one_domain(
    free: "np.ndarray[tuple[int, int], np.dtype[np.int64]]",
    codes: "np.ndarray[tuple[int], np.dtype[np.int32]]",
    requests: list[Request],
) -> int:
    return max(int(np.bincount(codes, weights=copies_of(free, request)).max()) for request in requests)
