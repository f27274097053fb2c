"""Results that look like those of real runs, made up from a seed: nothing is simulated for them."""

from collections.abc import Sequence

import numpy as np

from maitred.simulate.results import (
    BUCKETS,
    Bucket,
    End,
    FloorPlan,
    FloorPlanNode,
    JobOutcome,
    Result,
    Run,
    Sample,
)
from maitred.simulate.summary import summarise

SPLITS: dict[str, dict[Bucket, float]] = {
    "pod-by-pod": {
        "productive": 0.52,
        "starting": 0.02,
        "incomplete": 0.19,
        "lostToFailure": 0.03,
        "fragmented": 0.02,
        "idle": 0.19,
        "broken": 0.03,
    },
    "whole-groups": {
        "productive": 0.73,
        "starting": 0.02,
        "lostToEviction": 0.01,
        "lostToFailure": 0.03,
        "fragmented": 0.06,
        "idle": 0.12,
        "broken": 0.03,
    },
    "whole-groups-racks": {
        "productive": 0.71,
        "starting": 0.02,
        "lostToFailure": 0.03,
        "reserved": 0.02,
        "fragmented": 0.09,
        "idle": 0.10,
        "broken": 0.03,
    },
}
DAY_S = 86_400.0


def result(
    jobs: int = 600,
    seeds: int = 1,
    policies: Sequence[str] = tuple(SPLITS),
    nodes: int = 64,
    scenario: str = "made-up",
) -> Result:
    runs = tuple(
        run(policy, seed, jobs, nodes, SPLITS[policy] if policy in SPLITS else SPLITS["whole-groups"])
        for policy in policies
        for seed in range(1, seeds + 1)
    )
    return Result(scenario=scenario, summaries=summarise(runs), runs=runs)


def run(policy: str, seed: int, jobs: int, nodes: int, split: dict[Bucket, float]) -> Run:
    rng = np.random.default_rng([seed, len(policy)])
    duration, devices = 31 * DAY_S, nodes * 8
    incomplete = split.get("incomplete", 0.0)
    outcomes = outcomes_of(rng, jobs, duration, slowness=1.0 + 8 * incomplete)
    samples = samples_of(rng, split, duration, devices)
    totals = {
        bucket: sum((one.end - one.start) * one.devices.get(bucket, 0.0) for one in samples)
        for bucket in BUCKETS
    }
    return Run(
        policy=policy,
        seed=seed,
        duration=duration,
        devices=devices,
        nodes=nodes,
        device_seconds=totals,
        makespan=max((one.ended for one in outcomes if one.ended is not None), default=0.0),
        evictions=sum(one.evictions for one in outcomes),
        failures=sum(one.failures for one in outcomes),
        splits=int(jobs * incomplete),
        astray=int(jobs * incomplete / 2),
        deadlocks=int(40 * incomplete),
        deadlocked_seconds=incomplete * duration,
        wait_by_blocker={
            "Capacity": 3.1e6 * rng.uniform(0.8, 1.2),
            "Fragmentation": 1.2e6 * rng.uniform(0.8, 1.2),
            "Topology": 0.4e6 if policy.endswith("racks") else 0.0,
            "Priority": 0.2e6,
        },
        cycles=jobs * 3,
        outcomes=outcomes,
        samples=samples,
        floor=floor_of(rng, nodes, 0.6 * duration, incomplete > 0),
        placement="pod-by-pod" if incomplete else "whole-groups",
        warnings=("the trace ends before the horizon",) if policy == "pod-by-pod" else (),
    )


def outcomes_of(
    rng: np.random.Generator, jobs: int, duration: float, slowness: float
) -> tuple[JobOutcome, ...]:
    arrivals = np.sort(rng.uniform(0, 0.9 * duration, jobs))
    devices = np.where(rng.random(jobs) < 0.02, 0, 2 ** rng.integers(0, 9, jobs))
    waits = np.where(rng.random(jobs) < 0.3, 0.0, rng.lognormal(6, 1.8, jobs) * slowness * (1 + devices / 32))
    lengths = rng.lognormal(8.5, 1.6, jobs)
    return tuple(
        outcome(f"team-{n % 7}/train-{n}", arrivals[n], int(devices[n]), waits[n], lengths[n], duration, rng)
        for n in range(jobs)
    )


def outcome(
    name: str,
    arrival: float,
    devices: int,
    wait: float,
    length: float,
    duration: float,
    rng: np.random.Generator,
) -> JobOutcome:
    draw = rng.random()
    end: End = "finished" if arrival + wait + length < duration else "running"
    if arrival + wait >= duration:
        end = "waiting"
    elif draw < 0.005:
        end = "impossible"
    elif draw < 0.02:
        end = "cancelled"
    never = end in ("waiting", "impossible")
    return JobOutcome(
        job=name,
        end=end,
        arrival=float(arrival),
        members=max(devices // 8, 1),
        devices=devices,
        priority=int(rng.integers(0, 3)) * 100,
        started=None if never else float(arrival + wait),
        ended=float(arrival + wait + length) if end in ("finished", "cancelled") else None,
        waited=float(min(wait, duration - arrival)),
        evictions=int(rng.random() < 0.02),
        failures=int(rng.random() < 0.03),
        split=False,
        why="needs 4096 devices, the cluster has 512" if end == "impossible" else "",
    )


def samples_of(
    rng: np.random.Generator, split: dict[Bucket, float], duration: float, devices: int, count: int = 400
) -> tuple[Sample, ...]:
    edges = np.linspace(0.0, duration, count + 1)
    load = 0.75 + 0.25 * np.sin(np.linspace(0, 62 * np.pi, count)) * rng.uniform(0.4, 1.0, count)
    made = []
    for number in range(count):
        amounts = {bucket: float(devices * share * load[number]) for bucket, share in split.items()}
        amounts["idle"] += devices - sum(amounts.values())
        waiting = float(max(0.0, rng.normal(0.5, 0.3)) * devices * load[number])
        made.append(Sample(float(edges[number]), float(edges[number + 1]), amounts, waiting))
    return tuple(made)


def floor_of(rng: np.random.Generator, nodes: int, time: float, is_split: bool) -> FloorPlan:
    tables, job, left = [], 0, 0
    for number in range(nodes):
        seats: list[tuple[str, int]] = []
        broken = int(rng.random() < 0.04)
        free = 8 - broken
        while free and rng.random() < 0.93:
            if not left:
                job, left = job + 1, int(2 ** rng.integers(0, 7))
            taken = min(free, left)
            seats.append((f"team-{job % 7}/train-{job}", taken))
            free, left = free - taken, left - taken
        tables.append(
            FloorPlanNode(
                node=f"n{number:03}",
                block=f"b{number // 32 + 1}",
                rack=f"r{number // 8 + 1}",
                devices=8,
                broken=broken,
                seats=tuple(seats),
            )
        )
    sitting = {name: None for table in tables for name, _ in table.seats}
    incomplete = tuple(name for number, name in enumerate(sitting) if is_split and number % 4 == 2)
    return FloorPlan(
        time=time,
        tables=tuple(tables),
        incomplete=incomplete,
        waiting=("team-1/train-900", "team-2/train-901"),
    )
