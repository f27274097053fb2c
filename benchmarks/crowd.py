"""A crowd: the cluster is full of lesser pods, and gangs of all kinds come at once, most of which preempt.

It is the hard mix on full nodes: one cycle has to choose victims for some 150 groups, no two of them alike.
"""

import random
from collections import Counter
from collections.abc import Iterator

from benchmarks.clusters import mixed_cluster
from benchmarks.figures import Figure, Goal, Work, in_turns, say
from benchmarks.floors import free_of, seat_all
from benchmarks.hard_mix import bare_gangs
from benchmarks.loading import NOW, loaded
from benchmarks.mix import gangs
from benchmarks.objects import NAMESPACE, Obj
from benchmarks.storage import classes, csi_node, local_volumes
from maitred.decide import decide
from maitred.model.policy import Policy

REPEATS = 3
SIZE, QUICK = (5_000, 220, 200), (200, 12, 10)
"""Nodes, gangs, and shapes that these are made of."""
HIGH = 100
SECONDS = 2.0


def run(quick: bool) -> list[Figure]:
    nodes, count, shapes = QUICK if quick else SIZE
    snapshot = loaded(objects(nodes, count, shapes)).state.snapshot()
    plan = decide(snapshot, Policy(), NOW)
    verdicts = Counter(group.verdict for group in plan.groups)
    say(f"  {len(snapshot.bound.node)} running pods; {dict(verdicts)}; {len(plan.evictions)} evictions")
    wanted = bare_gangs(snapshot)
    usual = Work(lambda: decide(snapshot, Policy(), NOW))
    decided, floor = in_turns([usual, Work(lambda: seat_all(free_of(snapshot), wanted))], REPEATS)
    case = f"{verdicts['Preempting']} mixed gangs that preempt in one cycle, {nodes:,} full nodes"
    return [Figure(case, "decide", "s", decided, floor, Goal(SECONDS))]


def objects(nodes: int, count: int, shapes: int) -> Iterator[Obj]:
    rng, names = random.Random(2), list[str]()
    for item in mixed_cluster(nodes, rng, lone_jobs=False, full=True):
        if item["kind"] == "Node":
            names.append(item["metadata"]["name"])
            yield csi_node(names[-1])
        elif item["metadata"]["namespace"] == NAMESPACE:
            item["status"]["startTime"] = f"2026-01-31T{rng.randrange(12):02}:{rng.randrange(60):02}:00Z"
        yield item
    yield from classes()
    yield from local_volumes(names[::5])
    for gang in gangs(count, shapes, rng):
        for item in gang.objects():
            if item["kind"] in ("Pod", "PodGroup"):
                item["spec"]["priority"] = HIGH
            yield item
