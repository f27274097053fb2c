"""What a worker asks of its node."""

from dataclasses import dataclass
from functools import lru_cache

from maitred.model.pod import (
    Affinity,
    Container,
    NodeAffinity,
    NodeSelector,
    NodeSelectorTerm,
    PodSpec,
    Quantity,
    ResourceRequirements,
    Resources,
)
from maitred.model.selector import Requirement
from maitred.simulate.jobs import WHOLE, Crew

DEVICE = "nvidia.com/gpu"
MODEL = "nvidia.com/gpu.product"
"""The node label that says what the devices of a node are."""

CPU_PER_DEVICE, MEMORY_PER_DEVICE = 4, 32
"""Cores and GiB. Nodes made for training have at least that for each device."""
CPU_ALONE, MEMORY_ALONE = 4, 16


@dataclass(frozen=True, slots=True)
class WorkerRequests:
    """What a worker wants beside its devices; None: what is usual for as many devices."""

    cpu: Quantity | None = None
    memory: Quantity | None = None

    def crew(self, count: int, devices: int, models: tuple[str, ...] = ()) -> Crew:
        cpu = devices * CPU_PER_DEVICE or CPU_ALONE if self.cpu is None else self.cpu
        memory = f"{devices * MEMORY_PER_DEVICE or MEMORY_ALONE}Gi" if self.memory is None else self.memory
        return crew(count, cpu, memory, devices, models=models)


def crew(
    count: int,
    cpu: Quantity,
    memory: Quantity,
    devices: int,
    share: int = 0,
    models: tuple[str, ...] = (),
) -> Crew:
    if share == WHOLE:
        devices, share = 1, 0
    return Crew(worker_spec(cpu, memory, devices, models), count, devices, share, models)


@lru_cache(maxsize=65536)
def worker_spec(cpu: Quantity, memory: Quantity, devices: int, models: tuple[str, ...]) -> PodSpec:
    """One object for all workers that are alike, so that they are recognised as such at once."""
    limits: Resources = {DEVICE: devices} if devices else {}
    resources = ResourceRequirements(requests={"cpu": cpu, "memory": memory}, limits=limits)
    return PodSpec(containers=(Container(resources=resources),), affinity=only_on(models))


def only_on(models: tuple[str, ...]) -> Affinity | None:
    if not models:
        return None
    term = NodeSelectorTerm(match_expressions=(Requirement(MODEL, "In", models),))
    return Affinity(node_affinity=NodeAffinity(required=NodeSelector((term,))))
