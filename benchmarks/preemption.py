"""The room is full of lesser pods, and a gang arrives that needs a tenth of it: how long it takes to choose.

It is the case on which KAI publishes figures. And then a crowd arrives, all of which have to preempt.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks import crowd
from benchmarks.figures import Figure, Goal, Samples, Work, in_turns
from benchmarks.loading import NOW, loaded
from benchmarks.objects import H100, NAMESPACE, ZONE, Obj, Template, job_pod, node
from maitred.cluster.snapshot import Snapshot
from maitred.decide import decide
from maitred.model.policy import Policy

SIZES, QUICK = (500, 1_000, 2_000, 5_000), (100, 200)
REPEATS = 3
DEVICES = 8
ZONES = 5
LOW, HIGH = 10, 100


@dataclass(frozen=True, slots=True)
class Kind:
    what: str
    atomic: bool = False
    scattered: bool = False
    """Its groups have one pod on each of eight nodes."""
    within_zone: bool = False


KINDS = (
    Kind("one-GPU pods"),
    Kind("groups of 8 that leave whole, a node each", atomic=True),
    Kind("groups of 8 that leave whole, over 8 nodes each", atomic=True, scattered=True),
    Kind("one-GPU pods, the gang within a zone", within_zone=True),
)


def run(quick: bool) -> list[Figure]:
    figures = [figure for kind in KINDS for figure in growing(kind, QUICK if quick else SIZES)]
    return [*figures, *crowd.run(quick)]


def growing(kind: Kind, sizes: tuple[int, ...]) -> list[Figure]:
    """The time for each size, and how much longer the largest takes than the smallest."""
    figures, took = [], list[Samples]()
    for nodes in sizes:
        snapshot = loaded(objects(kind, nodes)).state.snapshot()
        check(snapshot, nodes)
        decided, floor = in_turns(works(snapshot), REPEATS)
        took.append(decided)
        case = f"A gang of N/10 × 8 GPUs displaces {kind.what}"
        goal = Goal(1.0) if nodes == sizes[-1] else None
        figures.append(Figure(case, f"decide, N = {nodes:,}", "s", decided, floor, goal))
    growth = Samples(tuple(most / least for most, least in zip(took[-1].cpu, took[0].cpu, strict=True)))
    linear = sizes[-1] / sizes[0]
    limit = Goal(linear * np.log(sizes[-1]) / np.log(sizes[0]))
    figures.append(Figure(case, f"{linear:g} times the nodes", "times as long", growth, None, limit))
    return figures


def works(snapshot: Snapshot) -> list[Work]:
    return [Work(lambda: decide(snapshot, Policy(), NOW)), Work(lambda: bare(snapshot))]


def check(snapshot: Snapshot, nodes: int) -> None:
    plan = decide(snapshot, Policy(), NOW)
    assert plan.groups[0].verdict == "Preempting", plan.groups[0]
    assert len(plan.nominations) == nodes // 10
    assert len(plan.evictions) >= nodes // 10 * DEVICES


def bare(snapshot: Snapshot) -> object:
    """The nodes that it is cheapest to clear, if every pod had its price and stood alone."""
    bound = snapshot.bound
    price = np.bincount(bound.node, weights=-bound.started, minlength=len(snapshot.nodes.names))
    chosen = np.argsort(price)[: len(snapshot.nodes.names) // 10]
    return np.flatnonzero(np.isin(bound.node, chosen))


def objects(kind: Kind, nodes: int) -> Iterator[Obj]:
    chance = random.Random(nodes)
    yield from (node(f"n{n:05}", f"r{n // 16}", f"z{n % ZONES}", H100) for n in range(nodes))
    for seat in range(nodes * DEVICES):
        yield from low(kind, seat, scattered(seat, nodes) if kind.scattered else seat // DEVICES, chance)
    yield gang("urgent", HIGH, nodes // 10, within=ZONE if kind.within_zone else "")
    for index in range(nodes // 10):
        yield ranked(job_pod("urgent", index, Template(gpus=DEVICES), "urgent"), HIGH)


def scattered(seat: int, nodes: int) -> int:
    """The pods of a group are an eighth of the cluster apart."""
    return (seat // DEVICES + seat % DEVICES * (nodes // DEVICES)) % nodes


def low(kind: Kind, seat: int, row: int, chance: random.Random) -> Iterator[Obj]:
    name = f"low-{seat // DEVICES:05}"
    if kind.atomic and seat % DEVICES == 0:
        yield gang(name, LOW, DEVICES, whole=True)
    pod = ranked(job_pod(name, seat % DEVICES, Template(), name if kind.atomic else "", f"n{row:05}"), LOW)
    pod["status"]["startTime"] = f"2026-01-31T{chance.randrange(12):02}:{chance.randrange(60):02}:00Z"
    yield pod


def ranked(pod: Obj, priority: int) -> Obj:
    return {**pod, "spec": {**pod["spec"], "priority": priority}}


def gang(name: str, priority: int, quorum: int, whole: bool = False, within: str = "") -> Obj:
    spec: Obj = {"priority": priority, "schedulingPolicy": {"gang": {"minCount": quorum}}}
    if whole:
        spec["disruptionMode"] = {"all": {}}
    if within:
        spec["schedulingConstraints"] = {"topology": [{"key": within}]}
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": spec,
    }
