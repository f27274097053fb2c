"""What a scenario is made of, in words that hold for every server: groups, pods, Jobs, nodes."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from maitred.sandbox.kubelets.bodies import Machine

OURS = "maitred"
RACK = "example.com/rack"
ZONE = "example.com/zone"


@dataclass(frozen=True, slots=True)
class Group:
    """A gang of at least `quorum` members; without a quorum, a basic group."""

    name: str
    quorum: int | None = None
    topology: str = ""
    """The node label of which all members must have the same value."""
    rank: str = ""
    """The priority class that it names, where groups can."""
    never: bool = False
    """It evicts nobody; the class that it names must say so too."""
    whole: bool = False
    """Its members leave together or not at all, where groups can say so."""
    parent: str = ""
    """The composite that it is in, where there are composites."""


@dataclass(frozen=True, slots=True)
class Composite:
    """A gang of at least `quorum` groups; without a quorum, a basic one."""

    name: str
    quorum: int | None = None
    topology: str = ""
    rank: str = ""
    whole: bool = False
    parent: str = ""


@dataclass(frozen=True, slots=True)
class Rank:
    """A priority class."""

    name: str
    value: int
    preempts: bool = True


@dataclass(frozen=True, slots=True)
class Budget:
    """A disruption budget for the pods that have the same `name`."""

    pods: "Pods"
    least: int
    """So many of them must be available."""

    @property
    def name(self) -> str:
        return self.pods.name


@dataclass(frozen=True, slots=True)
class Pods:
    """`count` pods that differ in their names only: `name-0`, `name-1`, and so on."""

    name: str
    count: int = 1
    group: Group | None = None
    first: int = 0
    cpu: int = 1
    scheduler: str = OURS
    node: str = ""
    """Where others have bound it, when we do not ask a scheduler."""
    run_seconds: float | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)
    """What else the pods have in their spec."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}-{number}" for number in range(self.first, self.first + self.count))


@dataclass(frozen=True, slots=True)
class Job:
    """An Indexed Job whose pods are all members of one group."""

    name: str
    size: int
    group: Group | None = None
    """The group that its template names; None: it says nothing, and is one gang all the same."""
    cpu: int = 1
    run_seconds: float | None = None
    spec: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Storage:
    """A claim that one pod at a time may use, with a volume for it."""

    name: str
    node: str = ""
    """The only one that can reach the volume, which waits there for the first consumer of the claim."""
    made: bool = False
    """There is no volume before someone makes it for the node of the first consumer."""


Thing = Group | Composite | Rank | Budget | Pods | Job | Storage


def members(group: Group, count: int, **more: Any) -> Pods:
    return Pods(**{"name": group.name, "count": count, "group": group, **more})


def taken(node: str, cpu: int, name: str = "guest") -> Pods:
    """Room that is gone: a pod that others have put there."""
    return Pods(name, cpu=cpu, scheduler="nobody", node=node)


def node(name: str, cpu: int = 4, **labels: str) -> Machine:
    """Labels by their short names: `rack="r1"`, `zone="z1"`."""
    keys = {"rack": RACK, "zone": ZONE}
    resources = {"cpu": str(cpu), "memory": "32Gi"}
    return Machine(name, resources, {keys[label]: value for label, value in labels.items()})


def nodes(count: int, cpu: int = 4) -> tuple[Machine, ...]:
    return tuple(node(f"n{number}", cpu) for number in range(count))


def rack(name: str, count: int, cpu: int = 1, **labels: str) -> tuple[Machine, ...]:
    """Nodes `name-0`, `name-1` and so on in one rack."""
    return tuple(node(f"{name}-{number}", cpu, rack=name, **labels) for number in range(count))
