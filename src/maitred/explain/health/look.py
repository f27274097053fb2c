"""All that nodes and pods report at one moment, which no snapshot has."""

from dataclasses import dataclass

from maitred.model.group import PodGroup
from maitred.model.node import Node
from maitred.model.pod import Pod


@dataclass(frozen=True, slots=True)
class FleetLook:
    nodes: tuple[Node, ...] = ()
    pods: tuple[Pod, ...] = ()
    groups: tuple[PodGroup, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be read."""
