"""All that a run starts from, but for the policy."""

from dataclasses import dataclass

from maitred.model.node import Node
from maitred.model.policy import Level
from maitred.simulate.clock import Time
from maitred.simulate.faults import Breakdowns, Reaction
from maitred.simulate.jobs import Workload


@dataclass(frozen=True)
class Setup:
    nodes: tuple[Node, ...]
    workload: Workload
    faults: Breakdowns
    reaction: Reaction | None = None
    """How the cluster learns of faults and what owners do then. None: all is known and done at once."""
    horizon: Time | None = None
    """When the run ends. None: when every job has ended."""
    period: Time = 0
    """Seats are given out at multiples of this. 0: whenever something happens."""
    levels: tuple[Level, ...] = ()
    """Wide to narrow; for policies that name none, and for the floor plan."""
    warnings: tuple[str, ...] = ()
