"""Holds for groups that wait: each has a planned place, and a time at which that is free at the latest.

They are kept in one object of maitred's own namespace, where no tenant can write: a ConfigMap with the label
`maitred.dev/record: holds`. A decision reads it like any other object, and its Plan has what is to be
remembered from now on. A hold is reckoned anew in every decision; what is remembered of it is what it must
not be later than, and what the next decision may fall back on.
"""

from typing import Annotated, Literal

import msgspec

from maitred.model.memory import MemoryObject, Name, remembered
from maitred.model.meta import Lean, Timestamp

HOLDS = "maitred-holds"
MOST_HOLDS, MOST_NODES, MOST_PLACES = 500, 10_000, 12_000
"""In all; the nodes of one hold; the nodes of all of them."""
LARGEST = 1e12
UNREAD = "what is remembered of holds (maitred-holds) cannot be read, so it is ignored: {}"

Basis = Literal["limits", "age"]
"""`limits`: everybody who must leave has an end that somebody enforces. `age`: not all have one, and the
group has waited for longer than the policy says."""
Cause = Literal["", "capacity", "rank", "unkept", "policy", "others"]
"""Why a hold is later than it was: its nodes have less room than before; a group of higher rank goes first;
somebody is still there whose end has passed; the policy is another one; or what the group asks of other pods
is not so any more."""
Count = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Amount = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]


class WaitingHold(Lean, frozen=True, omit_defaults=False):
    group: Name
    source: tuple[Name, Name, Name]
    """As the state knows it: what it comes from, its key, the UID of its owner."""
    basis: Basis
    made: Timestamp
    promised: Timestamp | None
    """When it was to begin at the latest, as was reckoned when it was made, or when it was moved for a cause.
    None where that is not known."""
    begins: Timestamp | None
    """When it begins at the latest, as far as is known now."""
    ends: Timestamp | None = None
    """When the group ends by its limit if it begins then."""
    nodes: Annotated[tuple[tuple[Name, Count], ...], msgspec.Meta(max_length=MOST_NODES)] = ()
    """How many of its members are planned on each. None: the hold is over for now."""
    moved: Cause = ""
    """Why it was moved to a later time, the last time that it was."""
    idle: Amount = 0.0
    """Device-hours for which places stood idle for it, where it is held by age,"""
    at: Timestamp | None = None
    """up to this time;"""
    rate: Amount = 0.0
    """and how many devices do from then on."""
    over: Timestamp | None = None
    """When it had used up what may stand idle for it."""


class HoldMemory(Lean, frozen=True, omit_defaults=False):
    policy: str = ""
    """What the policy said of holds."""
    holds: Annotated[tuple[WaitingHold, ...], msgspec.Meta(max_length=MOST_HOLDS)] = ()
    """In the order in which the groups had their turns."""

    def __str__(self) -> str:
        return msgspec.json.encode(self).decode()


NO_HOLDS = HoldMemory()


def holds_of(kept: MemoryObject | None) -> tuple[HoldMemory, str]:
    """What is remembered, and what is wrong with it if it cannot be read."""
    found, problem = remembered(kept, HoldMemory, NO_HOLDS, _unsound)
    return found, problem and UNREAD.format(problem)


def _unsound(found: HoldMemory) -> str:
    return "it has a group twice" if len({one.group for one in found.holds}) < len(found.holds) else ""
