"""All that nodes and pods report at one moment, which no snapshot has."""

from dataclasses import dataclass

from maitred.model.group import PodGroup
from maitred.model.reports import SeenNode, SeenPod


@dataclass(frozen=True, slots=True)
class FleetLook:
    nodes: tuple[SeenNode, ...] = ()
    pods: tuple[SeenPod, ...] = ()
    groups: tuple[PodGroup, ...] = ()
    notes: tuple[str, ...] = ()
    """What could not be read."""
