"""Nodes and groups in a few words, and the part of the loop that a seater needs."""

from collections.abc import Sequence

from maitred.model.meta import ObjectMeta
from maitred.model.node import Node, NodeSpec, NodeStatus, Taint
from maitred.model.pod import Container, PodSpec, Quantity, ResourceRequirements, Resources
from maitred.model.reports import SaidCondition
from maitred.simulate.clock import SECOND
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import Crew, SimulatedJob
from maitred.simulate.seating.seater import Seater

GPU = "nvidia.com/gpu"
MI = 1024**2


def node(
    name: str,
    cpu: Quantity = 8,
    memory: Quantity = "32Gi",
    gpu: int = 0,
    labels: dict[str, str] | None = None,
    taints: tuple[Taint, ...] = (),
    ready: bool = True,
) -> Node:
    return Node(
        ObjectMeta(name=name, labels=labels or {}),
        NodeSpec(taints=taints),
        NodeStatus(
            allocatable={"cpu": cpu, "memory": memory, GPU: gpu},
            conditions=(SaidCondition("Ready", "True" if ready else "Unknown"),),
        ),
    )


def container(cpu: Quantity = "", memory: Quantity = "", gpu: int = 0) -> Container:
    asked: Resources = {"cpu": cpu, "memory": memory, GPU: gpu or ""}
    requests = {resource: quantity for resource, quantity in asked.items() if quantity != ""}
    return Container(resources=ResourceRequirements(requests))


def crew(count: int, cpu: Quantity = "", memory: Quantity = "", gpu: int = 0) -> Crew:
    return Crew(PodSpec((container(cpu, memory, gpu),)), count, gpu)


def group(
    number: int, *crews: Crew, quorum: int | None = None, priority: int = 0, within: str = ""
) -> SimulatedGroup:
    """The number is also the minute at which it arrives."""
    members = sum(crew.count for crew in crews)
    job = SimulatedJob(f"job{number}", number * 60 * SECOND, crews, quorum or members, None, priority, within)
    return SimulatedGroup(job, number)


def sit(group: SimulatedGroup, *seats: str) -> SimulatedGroup:
    """The first members take these seats."""
    group.seats[: len(seats)] = seats
    group.sitting = len(seats)
    return group


def run_cycle(seater: Seater) -> list[tuple[str, int, str]]:
    """What one cycle did, in order: group, member, node."""
    done = []
    for seating in seater.cycle(0).seatings:
        for member, name in seating.seats:
            assert not seating.group.seats[member]
            seating.group.seats[member] = name
            seating.group.sitting += 1
            done.append((seating.group.name, member, name))
        seater.seated(seating.group, [member for member, _ in seating.seats])
    return done


def send_away(seater: Seater, group: SimulatedGroup, members: Sequence[int] | None = None) -> None:
    gone = group.sitters() if members is None else members
    seater.unseated(group, gone)
    for member in gone:
        group.seats[member] = ""
        group.sitting -= 1
