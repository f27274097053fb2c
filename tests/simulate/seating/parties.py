"""Nodes and parties in a few words, and the part of the loop that a seater needs."""

from collections.abc import Sequence

from maitred.model.meta import ObjectMeta
from maitred.model.node import Node, NodeCondition, NodeSpec, NodeStatus, Taint
from maitred.model.pod import Container, PodSpec, Quantity, ResourceRequirements, Resources
from maitred.simulate.clock import SECOND
from maitred.simulate.jobs import Crew, Job
from maitred.simulate.party import Party
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
            conditions=(NodeCondition("Ready", "True" if ready else "Unknown"),),
        ),
    )


def container(cpu: Quantity = "", memory: Quantity = "", gpu: int = 0) -> Container:
    asked: Resources = {"cpu": cpu, "memory": memory, GPU: gpu or ""}
    requests = {resource: quantity for resource, quantity in asked.items() if quantity != ""}
    return Container(resources=ResourceRequirements(requests))


def crew(count: int, cpu: Quantity = "", memory: Quantity = "", gpu: int = 0) -> Crew:
    return Crew(PodSpec((container(cpu, memory, gpu),)), count, gpu)


def party(number: int, *crews: Crew, quorum: int | None = None, priority: int = 0, within: str = "") -> Party:
    """The number is also the minute at which it arrives."""
    members = sum(crew.count for crew in crews)
    job = Job(f"job{number}", number * 60 * SECOND, crews, quorum or members, None, priority, within)
    return Party(job, number)


def sit(party: Party, *seats: str) -> Party:
    """The first members take these seats."""
    party.seats[: len(seats)] = seats
    party.sitting = len(seats)
    return party


def run_cycle(seater: Seater) -> list[tuple[str, int, str]]:
    """What one cycle did, in order: party, member, node."""
    done = []
    for seating in seater.cycle(0).seatings:
        for member, name in seating.seats:
            assert not seating.party.seats[member]
            seating.party.seats[member] = name
            seating.party.sitting += 1
            done.append((seating.party.name, member, name))
        seater.seated(seating.party, [member for member, _ in seating.seats])
    return done


def send_away(seater: Seater, party: Party, members: Sequence[int] | None = None) -> None:
    gone = party.sitters() if members is None else members
    seater.unseated(party, gone)
    for member in gone:
        party.seats[member] = ""
        party.sitting -= 1
