"""What a group asks of a trial: members to seat, how many of them at least, and near which pods."""

from collections.abc import Hashable
from dataclasses import dataclass, field, replace

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.parts import Parts
from maitred.cluster.snapshot import GroupView, MemberOrder, RunningMember
from maitred.decide.seats import Demand, Seats
from maitred.model.group import TopologyRequest

AnyAsk = Hashable
"""What is asked, whichever group asks it."""

Assignment = list[tuple[int, int]]
"""Members (by their position in the ask) and the rows of their nodes, in the order of seating."""


@dataclass(frozen=True, slots=True)
class Ask:
    shapes: tuple[int, ...]
    """The shape of each member, in member order."""
    orders: tuple[MemberOrder, ...]
    need: int
    topology: TopologyRequest
    seated: tuple[RunningMember, ...] = ()
    """Members that have a place already; a required domain is theirs."""
    parts: Parts | None = None
    """Of a tree of groups: the part that each member belongs to. Then `need` is a bound: no fewer will do."""
    avoided: frozenset[int] = frozenset()
    """Rows of nodes that are taken only if there are no others,"""
    closed: frozenset[int] = frozenset()
    """and of those that are kept free for others."""
    account: int = NO_ACCOUNT
    """On which its members are, if there are queues."""
    any_model: bool = False
    """Whether they may be on devices of different models then."""
    lifted: bool = False
    """Whether an override lifts it past the limits of its own queue, and of those above."""
    scavenges: bool = False
    """Whether its members run without paying, while nobody who pays wants their places."""
    distinct: tuple[int, ...] = field(init=False, repr=False, compare=False)
    """The different shapes, in the order in which members have them."""

    _alike: AnyAsk = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "distinct", tuple(dict.fromkeys(self.shapes)))

    def demand(self) -> Demand:
        counts = tuple(self.shapes.count(shape) for shape in self.distinct)
        return Demand(counts, self.need, len(self.shapes))

    def without(self, assignment: Assignment) -> "Ask":
        """The rest, once these members have their seats."""
        if len(assignment) == len(self.shapes):
            return replace(self, shapes=(), orders=(), need=0, parts=None)
        gone = {member for member, _ in assignment}
        left = [position for position in range(len(self.shapes)) if position not in gone]
        added = [RunningMember(self.orders[member], row) for member, row in assignment]
        return replace(
            self,
            shapes=tuple(self.shapes[position] for position in left),
            orders=tuple(self.orders[position] for position in left),
            need=0,
            seated=(*self.seated, *added),
            parts=None if self.parts is None else self.parts.without([member for member, _ in assignment]),
        )

    def only(self, members: list[int]) -> "Ask":
        """Some of the members, all of them needed, whatever part of the group they are."""
        return replace(
            self,
            shapes=tuple(self.shapes[member] for member in members),
            orders=tuple(self.orders[member] for member in members),
            need=len(members),
            parts=None,
        )

    @property
    def opened(self) -> "Ask":
        """The same, if no node were kept free for others."""
        return replace(self, closed=frozenset()) if self.closed else self

    def as_group(self) -> "Ask":
        """The same without its parts, where it is a group in a tree of its own: that is found much sooner."""
        branches = () if self.parts is None else self.parts.root.children
        alone = len(branches) == 1 and branches[0].is_leaf and branches[0].topology == self.topology
        return replace(self, parts=None) if alone else self

    @property
    def intricate(self) -> bool:
        """Whether it matters who sits where: members are cut in slices, or are parts of a tree."""
        return bool(self.topology.slice_size) or self.parts is not None

    def levels(self) -> list[str]:
        """Levels of which members must share a domain, all of them or some."""
        request = self.topology
        own = [level for level in (request.required, request.slice_level) if level]
        return own if self.parts is None else list(dict.fromkeys([*own, *self.parts.root.levels()]))

    def unnamed(self) -> AnyAsk:
        """Equal for the same ask of any other group: who its members are matters only where they are cut in
        slices."""
        if self.intricate:
            return self
        if self._alike is None:
            alike = (
                self.shapes,
                self.need,
                self.topology,
                tuple(sorted({member.node for member in self.seated})),
                self.avoided,
                self.closed,
                self.account,
                self.any_model,
                self.lifted,
            )
            object.__setattr__(self, "_alike", alike)
        return self._alike

    def anchors(self) -> "np.ndarray[tuple[int], np.dtype[np.intp]]":
        return np.array([member.node for member in self.seated], dtype=np.intp)


def ask_of(
    view: GroupView, avoided: frozenset[int] = frozenset(), closed: frozenset[int] = frozenset()
) -> Ask:
    """The members that wait, with at least as many as the quorum lacks; and those that come later, all of
    which are needed with them."""
    shapes, later = tuple(view.shapes.tolist()), view.later
    if later is None:
        topology = view.group.topology
        return Ask(
            shapes,
            view.orders,
            view.missing,
            topology,
            view.running,
            view.parts,
            avoided,
            closed,
            view.account,
            view.any_model,
            view.override is not None,
            view.scavenges,
        )
    parts = later.parts
    return Ask(
        (*shapes, *later.shapes),
        (*view.orders, *later.orders),
        parts.lacking(),
        parts.root.topology,
        view.running,
        parts,
        avoided,
        closed,
        view.account,
        view.any_model,
        view.override is not None,
        view.scavenges,
    )


def ask_anew(view: GroupView) -> Ask:
    """The whole unfinished group as if no member sat yet, for the empty cluster."""
    parts = view.tree
    waiting, sat = [*zip(view.orders, view.shapes.tolist(), strict=True)], view.running_shapes.tolist()
    if view.later is not None:
        waiting += zip(view.later.orders, view.later.shapes, strict=True)
    running = zip((member.order for member in view.running), sat, strict=True)
    every = [*waiting, *running]
    leaves = [0] * len(every) if parts is None else [*parts.waiting, *parts.seated]
    members = sorted((order, shape, leaf) for (order, shape), leaf in zip(every, leaves, strict=True))
    shapes, orders = tuple(shape for _, shape, _ in members), tuple(order for order, _, _ in members)
    if parts is None:
        need = max(1, view.group.quorum - view.succeeded)
        return Ask(
            shapes,
            orders,
            need,
            view.group.topology,
            account=view.account,
            any_model=view.any_model,
            lifted=view.override is not None,
            scavenges=view.scavenges,
        )
    parts = replace(parts, waiting=tuple(leaf for _, _, leaf in members), seated=())
    return Ask(
        shapes,
        orders,
        max(1, parts.lacking()),
        _topology(view, parts),
        parts=parts,
        account=view.account,
        any_model=view.any_model,
        lifted=view.override is not None,
        scavenges=view.scavenges,
    )


def ask_at_last(view: GroupView) -> Ask:
    """The members that wait, with what the quorum lacks once those that run have ended well: they count
    then, and hold no place."""
    ask = ask_of(view)
    parts = ask.parts
    if parts is not None:
        parts = replace(parts, seated=(), succeeded=tuple(parts.have()))
    return replace(ask, need=max(1, ask.need), seated=(), parts=parts)


def _topology(view: GroupView, parts: Parts) -> TopologyRequest:
    return view.group.topology if view.later is None else parts.root.topology


def hand_out(ask: Ask, seats: Seats, any_order: bool) -> Assignment:
    """Members for seats: of each shape the lowest first. Where the order is free, the lowest of all first."""
    distinct, singles = ask.distinct, seats.singles()
    if len(distinct) == 1:
        return list(enumerate([row for _, row in singles]))
    waiting = {shape: iter([m for m, s in enumerate(ask.shapes) if s == shape]) for shape in distinct}
    assignment = [(next(waiting[distinct[position]]), row) for position, row in singles]
    return sorted(assignment) if any_order else assignment
