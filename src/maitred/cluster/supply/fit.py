"""How many copies of some shapes fit: what a supply answers, in terms that every way of seating understands.

`copies` counts each shape by itself on each node. What members take from each other is said beside it: on
one node by `rooms`, which they share, and between nodes by conflicts, companies and quotas. Where there is
none of the latter the counts are exact; else they are a bound, and whoever seats members holds to the rest
one by one.
"""

from dataclasses import dataclass

from maitred.cluster.nodes import Codes, Ints, Mask

UNLIMITED = 2**31


@dataclass(frozen=True, slots=True)
class Room:
    """Something that nodes run out of and pods take several of."""

    free: Ints
    use: tuple[int, ...]
    """How much a member of each shape takes."""
    once: tuple[int, ...] = ()
    """What members of each shape that sit on one node take together beside that, by a claim that they share.
    Only seating one by one minds it."""


@dataclass(frozen=True, slots=True)
class Quota:
    """At most so many uses per domain: volumes that exist, claims that one pod at a time may hold."""

    codes: Codes
    limits: Ints
    use: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Conflict:
    """Members of these shapes may not share a domain."""

    codes: Codes
    pairs: Mask
    capped: bool
    """Already in `copies`: each domain is a node, and the group has one shape."""


@dataclass(frozen=True, slots=True, eq=False)
class Company:
    """Pods that a shape must be together with: one that all terms match must be in each term's domain.

    Required pod affinity is such a wish; so is a claim that several members share before it is bound.
    """

    codes: tuple[Codes, ...]
    present: tuple[Mask, ...]
    """Per term, the domains that have such a pod already."""
    anywhere: bool
    """Whether any pod at all matches; while none does, the first of a series may go ahead."""
    provided_by: tuple[bool, ...]
    """Which shapes of the group are such pods."""
    own: bool


@dataclass(slots=True)
class Fit:
    """Lists are by the position of the shape among those that were asked about."""

    masks: list[Mask | None]
    """Nodes that are open to the shape at all; None for all."""
    copies: list[Ints | None]
    """How many copies each node has enough for, if it took nothing else; None where there is no limit."""
    companies: list[tuple[Company, ...]]
    rooms: list[Room]
    conflicts: list[Conflict]
    quotas: list[Quota]
    sure: bool = True
    """Whether members who hold to all this are served for certain; if not, the supply must be asked once it
    is known who sits where (`Supply.serves`)."""
    kinds: Codes | None = None
    """Nodes with the same number are alike in all that this supply minds and does not say above."""
    sure_up_to: int = UNLIMITED
    """Nodes may have room for more copies than is said here, where it is for more than so many: the search
    for more was given up."""

    @classmethod
    def without_limits(cls, shapes: int) -> "Fit":
        return cls([None] * shapes, [None] * shapes, [()] * shapes, [], [], [])

    @property
    def exact(self) -> bool:
        """Whether `copies`, and `rooms` where shapes share a node, say all."""
        alone = self.sure and not (self.quotas or any(self.companies))
        return alone and all(one.capped for one in self.conflicts)
