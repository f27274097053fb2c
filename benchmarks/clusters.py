"""Clusters to decide over, made from a seed."""

import random
from collections.abc import Iterator
from itertools import count, islice

from benchmarks.objects import (
    A100,
    H100,
    HOST,
    L4,
    LARGE,
    Machine,
    Obj,
    Template,
    apart,
    daemon_pod,
    job_pod,
    node,
)

RACK_NODES = 16
ZONES = ("zone-a", "zone-b", "zone-c")


def rack_of(number: int, nodes: int) -> int:
    """Whole racks of 16; what is left over goes to the last one."""
    return min(number // RACK_NODES, max(1, nodes // RACK_NODES) - 1)


def zone_of(rack: int) -> str:
    return ZONES[rack % len(ZONES)]


def training_cluster(nodes: int, rng: random.Random, busy: float) -> Iterator[Obj]:
    """Racks of eight-GPU nodes. `busy` is the share of nodes that run a job already, of one to eight GPUs."""
    for number in range(nodes):
        name, rack = f"gpu-{number:05}", rack_of(number, nodes)
        yield node(name, f"rack-{rack:04}", zone_of(rack), H100)
        yield daemon_pod("node-exporter", name, 9100)
        if rng.random() < busy:
            yield job_pod(f"busy-{number}", 0, Template(gpus=rng.randint(1, 8)), node_name=name)


MIXED = (H100, A100, L4, LARGE, LARGE)


def mixed_cluster(
    nodes: int, rng: random.Random, lone_jobs: bool, most: int = 12, full: bool = False
) -> Iterator[Obj]:
    """Racks of one kind of machine each, three zones, some nodes kept for a team, half full on average.

    `lone_jobs`: every running pod is of a job of its own, as in a sweep, so that the labels which selectors
    read have as many values as there are pods. Nothing else differs.
    No node runs more than `most` pods beside what belongs to it. `full`: each runs as much as it can.
    """
    for number in range(nodes):
        rack = rack_of(number, nodes)
        machine, name = MIXED[rack % len(MIXED)], f"node-{number:05}"
        taints = ["example.com/team-red"] if rng.random() < 0.05 else []
        yield node(name, f"rack-{rack:04}", zone_of(rack), machine, taints)
        yield daemon_pod("node-exporter", name, 9100)
        yield from islice(load(name, machine, rng, lone_jobs, (1.0,) if full else LEVELS), most)


LEVELS = (0.0, 0.2, 0.5, 0.8, 1.0)
"""Some nodes are empty, some full, half of all is taken."""


def load(
    name: str, machine: Machine, rng: random.Random, lone_jobs: bool, levels: tuple[float, ...]
) -> Iterator[Obj]:
    """Pods of 960 jobs, or of one each."""
    level = rng.choice(levels)
    cpu, gpus = machine.cpu * 0.95 * level, round(machine.gpus * level)
    for position in count():
        devices = min(gpus, rng.choice((1, 2, 4)))
        asked = devices * 6 or rng.choice((2, 4, 8))
        if cpu < asked:
            return
        cpu, gpus = cpu - asked, gpus - devices
        number = rng.randrange(60)
        shared = f"app-{number}-{rng.randrange(16)}"
        job = f"{shared}-{name}-{position}" if lone_jobs else shared
        yield job_pod(job, f"{name}-{position}", application(number, asked, devices), node_name=name)


def application(number: int, cpu: int, gpus: int) -> Template:
    """Every tenth application keeps its pods on different nodes."""
    labels = {"app.kubernetes.io/name": f"app-{number}", "tier": f"tier-{number % 4}"}
    spec = apart({"app.kubernetes.io/name": f"app-{number}"}, HOST) if number % 10 == 0 else {}
    return Template(str(cpu), f"{cpu * 4}Gi", gpus, spec, labels)
