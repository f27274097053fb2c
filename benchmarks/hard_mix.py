"""A half-full cluster of several kinds of nodes, and a queue with every kind of gang in it."""

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.clusters import mixed_cluster
from benchmarks.figures import Figure, Goal, Work, in_turns, say
from benchmarks.floors import Mask, Request, free_of, request_of, seat_all
from benchmarks.loading import NOW, loaded
from benchmarks.mix import gangs
from benchmarks.objects import Obj
from benchmarks.storage import classes, csi_node, local_volumes
from maitred.cluster.selection import required_nodes, tolerated_nodes
from maitred.cluster.snapshot import Snapshot
from maitred.decide import decide
from maitred.model.group import PodGroup
from maitred.model.policy import Policy

REPEATS = 5


@dataclass(frozen=True, slots=True)
class Size:
    nodes: int
    gangs: int
    shapes: int
    """Before affinities and volumes make more of them."""

    @property
    def case(self) -> str:
        return f"Hard mix: {self.gangs} gangs, over {self.shapes} shapes, {self.nodes:,} half-full nodes"


FULL, QUICK = Size(5_000, 220, 200), Size(320, 24, 20)


def run(quick: bool) -> list[Figure]:
    """Twice over: how many jobs the running pods belong to matters more than anything else in the mix."""
    size = QUICK if quick else FULL
    return [
        *measured(size, "running pods of 960 jobs", lone_jobs=False),
        *measured(size, "each running pod a job of its own", lone_jobs=True),
    ]


def measured(size: Size, load: str, lone_jobs: bool) -> list[Figure]:
    cluster = loaded(objects(size, lone_jobs))
    snapshot = cluster.state.snapshot()
    pods = sum(len(view.pods) for view in snapshot.groups)
    say(described(snapshot, pods))
    wanted = bare_gangs(snapshot)
    usual = Work(lambda: decide(snapshot, Policy(), NOW))
    bare = Work(lambda: seat_all(free_of(snapshot), wanted))
    decided, floor = (seconds.rate(pods) for seconds in in_turns([usual, bare], REPEATS))
    anew = Work(cluster.state.snapshot, lambda: cluster.put(PodGroup, 1))
    goal = Goal(5_000, at_least=True)
    return [
        Figure(size.case, f"decide, {load}", "pods/s", decided, floor, goal, rate=True),
        Figure(size.case, f"snapshot, {load}", "ms", in_turns([anew], REPEATS)[0].times(1e3)),
    ]


def objects(size: Size, lone_jobs: bool) -> Iterator[Obj]:
    rng, names = random.Random(2), []
    for item in mixed_cluster(size.nodes, rng, lone_jobs):
        yield item
        if item["kind"] == "Node":
            names.append(item["metadata"]["name"])
            yield csi_node(names[-1])
    yield from classes()
    yield from local_volumes(names[::5])
    for gang in gangs(size.gangs, size.shapes, rng):
        yield from gang.objects()


def described(snapshot: Snapshot, pods: int) -> str:
    """What came out, to see that the mix is what it is meant to be."""
    plan = decide(snapshot, Policy(), NOW)
    verdicts = Counter(group.verdict for group in plan.groups)
    first = Counter(group.blockers[0].category for group in plan.groups if group.blockers)
    shapes = len({int(shape) for view in snapshot.groups for shape in view.shapes})
    return (
        f"  {pods} pods of {shapes} shapes beside {len(snapshot.bound.node)} running "
        f"of {len(snapshot.classes)} label classes; "
        f"{dict(verdicts)}; first blockers {dict(first)}; search exhausted: {plan.search_exhausted}"
    )


def bare_gangs(snapshot: Snapshot) -> list[list[tuple[Mask, Request, int]]]:
    """What the floor is given: nodes by selector and taints, amounts, and how many of each shape."""
    return [
        [
            (acceptable(snapshot, shape), request_of(snapshot, shape), count)
            for shape, count in sorted(Counter(view.shapes.tolist()).items())
        ]
        for view in snapshot.groups
    ]


def acceptable(snapshot: Snapshot, shape: int) -> Mask:
    needs = snapshot.needs[snapshot.shapes[shape].needs]
    return required_nodes(snapshot.nodes, needs.node) & tolerated_nodes(snapshot.nodes, needs.tolerations)
