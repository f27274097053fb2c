"""The categories of blockers. All that others need to know of a category is in its row of one table.

To add one, give it a word in `Category` and a row in `CATEGORIES`, and build the blocker with its message
where `decide` measures it. Which changes wake its groups, whether autoscalers buy nodes for them and whether
their waiting counts as waiting for seats all follow from the row.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Flag, auto
from typing import Literal

Category = Literal[
    "Members",
    "Gated",
    "Request",
    "Quota",
    "Budget",
    "Reservation",
    "Priority",
    "Topology",
    "Devices",
    "Health",
    "Affinity",
    "Volume",
    "Fragmentation",
    "Capacity",
    "Backoff",
]


class Effect(Flag):
    """Kinds of change in a cluster. Each can seat groups that wait for it, and no others."""

    ROOM = auto()
    """A node came, went or changed, or load left one."""
    COMPANY = auto()
    """A pod on a node came, went or changed its labels: affinity and spread count those."""
    STORAGE = auto()
    DEVICES = auto()
    """Devices were published, withdrawn or tainted; claims came, went or were allocated."""
    RULES = auto()
    """Priority classes, labels of namespaces: what may concern anyone."""


NO_EFFECT = Effect(0)
ANYTHING = Effect.ROOM | Effect.COMPANY | Effect.STORAGE | Effect.DEVICES | Effect.RULES
ROOM = Effect.ROOM | Effect.RULES
"""What can make room. A pod that was just bound makes none for those who outrank it: the place that they
could take from it now was free before. But a priority class can make pods lesser than they were."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What is true of every blocker of one category."""

    wakes: Effect
    """What can lift it, beside a change of the group itself."""
    about_room: bool = False
    """Whether the group waits for seats: devices that lie idle meanwhile could have been its own."""
    more_nodes_help: bool = False
    """Whether a new node, of a kind that the cluster has, could lift it. If so, members have the condition
    PodScheduled=False with the reason `Unschedulable`, for which autoscalers buy nodes; else the category."""
    larger_cluster_helps: bool = False
    """The same for a group that is Impossible on the nodes there are."""
    hides_others: bool = False
    """Whether the group is looked at as if it were lifted, so that its owner hears what comes next."""

    @property
    def lifted_from_outside(self) -> bool:
        """Whether anything but a change of the group itself can lift it."""
        return self.wakes != NO_EFFECT


CATEGORIES: Mapping[Category, Traits] = {
    "Members": Traits(wakes=NO_EFFECT),
    "Gated": Traits(wakes=NO_EFFECT, hides_others=True),
    "Request": Traits(wakes=ROOM),
    "Quota": Traits(wakes=ANYTHING),
    "Budget": Traits(wakes=ANYTHING),
    "Reservation": Traits(wakes=ANYTHING),
    # Once those who went first are seated, what is short is no longer their rank.
    "Priority": Traits(wakes=ROOM | Effect.COMPANY, about_room=True, more_nodes_help=True),
    "Topology": Traits(wakes=ROOM, about_room=True, more_nodes_help=True),
    "Devices": Traits(wakes=ROOM | Effect.DEVICES, about_room=True, more_nodes_help=True),
    "Health": Traits(wakes=ROOM | Effect.DEVICES, about_room=True, more_nodes_help=True),
    "Affinity": Traits(wakes=ROOM | Effect.COMPANY, about_room=True, more_nodes_help=True),
    "Volume": Traits(wakes=ROOM | Effect.COMPANY | Effect.STORAGE, about_room=True),
    "Fragmentation": Traits(wakes=ROOM, about_room=True, more_nodes_help=True, larger_cluster_helps=True),
    "Capacity": Traits(wakes=ROOM, about_room=True, more_nodes_help=True, larger_cluster_helps=True),
    "Backoff": Traits(wakes=ANYTHING),
}
"""In the order in which blockers are named: what keeps a group from being tried at all comes first."""


def in_order(categories: Iterable[Category]) -> list[Category]:
    """These, in the order in which they are named."""
    named = frozenset(categories)
    return [category for category in CATEGORIES if category in named]
