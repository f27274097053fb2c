"""`python -m benchmarks.anchors.fgd_live [DATA_FOLDER]`: the experiment of `fgd`, decided by the live engine.

Every GPU is published as a device that several claims can share, with a capacity of 1000. Pods claim a part
of one, or all of several, and come a few at a time. Whoever finds no room is gone. The engine knows no pods
but those that wait and those that run.
"""

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.anchors.data import data_folder
from benchmarks.anchors.fgd import ARRIVED, FIRST_SEED, SCENARIO, VARIANTS, in_drawn_order, scenario_of
from benchmarks.figures import say
from benchmarks.loading import NOW
from benchmarks.report import machine
from maitred.cluster.state import ClusterState, Delete, Put
from maitred.decide import decide
from maitred.model.devices.claims import (
    Allocation,
    CapacityRequirements,
    Consumer,
    DeviceClaim,
    DeviceRequest,
    ExactRequest,
    ResourceClaim,
    ResourceClaimSpec,
    ResourceClaimStatus,
)
from maitred.model.devices.classes import DeviceClass
from maitred.model.devices.slices import (
    Device,
    DeviceCapacity,
    ResourcePool,
    ResourceSlice,
    ResourceSliceSpec,
)
from maitred.model.meta import ObjectMeta
from maitred.model.node import Node, NodeStatus
from maitred.model.pod import Container, Pod, PodResourceClaim, PodStatus, ResourceRequirements
from maitred.model.policy import Policy
from maitred.simulate.jobs import WHOLE, SimulatedJob
from maitred.simulate.scenario import prepare
from maitred.simulate.setup import Setup

GPU = "nvidia.com/gpu"
DRIVER = "gpu.example.com"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.anchors.fgd_live", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=data_folder(), metavar="DATA_FOLDER")
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS[:1])
    parser.add_argument("--seed", type=int, default=FIRST_SEED)
    parser.add_argument("--at-once", type=int, default=10, metavar="N", help="pods that come at once")
    asked = parser.parse_args()
    for variant in asked.variants:
        begun = time.perf_counter()
        shares = allocated(setup_of(asked.folder, variant, asked.seed), asked.at_once)
        figures = ", ".join(f"{share:.2f} % @{part}" for part, share in zip(ARRIVED, shares, strict=True))
        print(f"{variant}: {figures}; {time.perf_counter() - begun:.0f} s")
    print(machine())
    return 0


def setup_of(folder: Path, variant: str, seed: int) -> Setup:
    scenario = scenario_of(variant)
    files = {name: (folder / name).read_bytes() for name in scenario.files()}
    return in_drawn_order(prepare(scenario, SCENARIO.name, files, seed), seed)


def allocated(setup: Setup, at_once: int) -> tuple[float, ...]:
    """Percent of all GPUs, when so many are asked for as ARRIVED says."""
    state, gpus = ClusterState(), 0
    state.apply(Put(DeviceClass(ObjectMeta(name="gpu"))))
    for number, node in enumerate(setup.nodes):
        count = int(node.status.allocatable.get(GPU, 0))
        gpus += count
        for item in published(node, number, count):
            state.apply(Put(item))
    loads = np.array([job.load for job in setup.workload])
    seated = np.zeros(len(loads), dtype=np.bool_)
    for start in range(0, len(loads), at_once):
        jobs = list(enumerate(setup.workload[start : start + at_once], start))
        for number in decided(state, jobs):
            seated[number] = True
        if start % 1000 == 0:
            held = (loads * seated).sum() / gpus / WHOLE
            say(f"{loads[: start + at_once].sum() / gpus / WHOLE:.1%} asked for, {held:.1%} allocated")
    capacity = gpus * WHOLE / 100
    asked, held = np.rint(loads.cumsum() / capacity), (loads * seated).cumsum() / capacity
    return tuple(float(held[asked == arrived].mean()) for arrived in ARRIVED)


def published(node: Node, number: int, count: int) -> Iterator[Node | ResourceSlice]:
    """Names say where a node comes in the order: ties go to the first."""
    name = f"n{number:04}"
    amounts = {key: amount for key, amount in node.status.allocatable.items() if key != GPU}
    amounts["pods"] = 1000
    labels = {**node.metadata.labels, "kubernetes.io/hostname": name}
    yield Node(ObjectMeta(name=name, labels=labels), status=NodeStatus(amounts, amounts))
    if count:
        capacity = {"share": DeviceCapacity(WHOLE)}
        devices = tuple(
            Device(f"gpu-{place}", capacity=capacity, allow_multiple_allocations=True)
            for place in range(count)
        )
        spec = ResourceSliceSpec(DRIVER, ResourcePool(name), node_name=name, devices=devices)
        yield ResourceSlice(ObjectMeta(name=name), spec)


def decided(state: ClusterState, jobs: list[tuple[int, SimulatedJob]]) -> Iterator[int]:
    """Those of the jobs that find room; they stay, and the others go."""
    made = {f"default/p{number:05}": (number, *objects(number, job)) for number, job in jobs}
    for _, pod, claims in made.values():
        for item in (*claims, pod):
            state.apply(Put(item))
    plan = decide(state.snapshot(), Policy(), NOW)
    seats = {bind.pod: bind.node for bind in plan.binds}
    given: dict[str, Any] = {one.claim: one for one in plan.claims}
    for key, (number, pod, claims) in made.items():
        if key not in seats:
            for item in (pod, *claims):
                state.apply(Delete(type(item), f"default/{item.metadata.name}"))
            continue
        for claim in claims:
            served = given[f"default/{claim.metadata.name}"]
            status = ResourceClaimStatus(
                msgspec.convert(served.allocation, Allocation),
                tuple(msgspec.convert(one, Consumer) for one in served.reserved_for),
            )
            state.apply(Put(msgspec.structs.replace(claim, status=status)))
        spec = msgspec.structs.replace(pod.spec, node_name=seats[key])
        state.apply(Put(msgspec.structs.replace(pod, spec=spec, status=PodStatus("Running"))))
        yield number


def objects(number: int, job: SimulatedJob) -> tuple[Pod, tuple[ResourceClaim, ...]]:
    (crew,), name = job.crews, f"p{number:05}"
    (container,) = crew.spec.containers
    requests = {key: amount for key, amount in container.resources.requests.items() if key != GPU}
    spec = msgspec.structs.replace(
        crew.spec, containers=(Container(resources=ResourceRequirements(requests)),)
    )
    claims = tuple[ResourceClaim, ...]()
    if crew.load:
        amount = CapacityRequirements({"share": crew.share or WHOLE})
        exactly = ExactRequest("gpu", count=crew.devices or 1, capacity=amount)
        devices = DeviceClaim((DeviceRequest("gpu", exactly),))
        claims = (ResourceClaim(ObjectMeta(name=name, namespace="default"), ResourceClaimSpec(devices)),)
        spec = msgspec.structs.replace(
            spec, resource_claims=(PodResourceClaim("gpu", resource_claim_name=name),)
        )
    return Pod(ObjectMeta(name=name, namespace="default", uid=name), spec, PodStatus("Pending")), claims


if __name__ == "__main__":
    sys.exit(main())
