"""Between the loop and those who give out seats: what a seater is told, and what it answers."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from maitred.model.node import Node
from maitred.model.plan import NodeTaint, Plan, Receipt
from maitred.simulate.clock import Time
from maitred.simulate.group import SimulatedGroup

UNDIAGNOSED = "Unschedulable"
"""What is in the way of those whose scheduler does not say: kube-scheduler's one word for it."""


@dataclass(frozen=True, slots=True)
class SeatAssignment:
    """Members of a group, by their numbers, and the nodes they are to sit on."""

    group: SimulatedGroup
    seats: Sequence[tuple[int, str]]
    device: int | None = None
    """Of its only member, where that takes a share of a device: the number by which the seater knows it."""


@dataclass(frozen=True, slots=True)
class Removal:
    """Members of a group, by their numbers, who are sent away, and for whom."""

    group: SimulatedGroup
    members: Sequence[int]
    preemptor: str
    receipts: Sequence[Receipt] = ()
    """One for each of them, where `decide` chose them."""
    at_once: bool = False
    """Whether their seats are taken at this very moment, whatever grace they have."""


@dataclass(frozen=True, slots=True)
class LostMembers:
    """Members of a group, by their numbers, who are lost and told to leave, so that others are created."""

    group: SimulatedGroup
    members: Sequence[int]


@dataclass(frozen=True, slots=True)
class Moves:
    """What is to be done, in this order: taints, losses, removals, nominations, seatings."""

    removals: Sequence[Removal] = ()
    nominations: Sequence[SeatAssignment] = ()
    """Places to be kept for a group from now on, in place of all that were; none: it loses them."""
    seatings: Sequence[SeatAssignment] = ()
    impossible: Mapping[SimulatedGroup, str] = field(default_factory=dict)
    """Groups that can never be seated on this cluster, and why. They leave the run."""
    plan: Plan | None = None
    """What `decide` said, where it was asked. It may say more: seats of others, to be decided anew."""
    losses: Sequence[LostMembers] = ()
    taints: Sequence[NodeTaint] = ()

    def __bool__(self) -> bool:
        return bool(
            self.taints
            or self.losses
            or self.removals
            or self.nominations
            or self.seatings
            or self.impossible
        )


class Seater(Protocol):
    """Decides who sits where. It is told of everything that happens before it is asked."""

    def node_changed(self, node: Node) -> None:
        """A node broke, lost a device, or was mended."""

    def wants(self, group: SimulatedGroup, now: Time) -> None:
        """Members of the group want seats: it arrived, or lost some of those it had, which may make all of it
        start anew. Or places are kept for it now, or no longer."""

    def seated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """Members have taken the seats that the group now has for them, or are about to start on those that
        they had."""

    def changed(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """Members have ended, or begin anew because others have. They hold their seats until they are
        unseated. Or they were created anew, and want no seats until the others have left theirs."""

    def leaving(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """Members were sent away. They hold their seats until they are unseated."""

    def unseated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """Members give up the seats that the group still has for them: they have left, broke down, or the job
        is over."""

    def leaves(self, group: SimulatedGroup) -> None:
        """The job is over. Its members have been unseated before."""

    def cycle(self, now: Time) -> Moves:
        """What to do now. It is asked again until there is nothing to do."""

    def waited(self, group: SimulatedGroup, since: Time, now: Time) -> Mapping[str, Time]:
        """What was in the way of a group that waited from then to now, and for how long."""

    def why(self, group: SimulatedGroup) -> str:
        """What is in the way of a group that waits, in words."""

    @property
    def spares(self) -> Collection[str]:
        """Nodes that are kept free for repairs."""

    def next_look(self, now: Time) -> Time | None:
        """When time alone could change the answer."""
