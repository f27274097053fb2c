"""How many neighbours of a group sit apart, by level, and how few it could be on the same seats."""

from collections.abc import Hashable, Iterable, Sequence
from itertools import repeat

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import NodeView
from maitred.cluster.snapshot import MemberOrder, Snapshot
from maitred.decide.levels import known_levels, named_keys
from maitred.decide.ranks import RankedSeats, Scales
from maitred.decide.record import TriedGroup
from maitred.explain.why.answer import LevelCrossings, RankAnswer
from maitred.model.group import Group
from maitred.model.policy import Level, Policy


def ranks_of_decided(nodes: NodeView, levels: Sequence[Level], group: TriedGroup) -> RankAnswer | None:
    """Of members that run, or are bound now."""
    view, parts = group.view, group.view.parts
    running = zip(view.running, view.running_shapes.tolist(), strict=True)
    leaves = parts.seated if parts is not None else repeat(0)
    seats = [
        (leaf, (one.order, one.node), shape) for leaf, (one, shape) in zip(leaves, running, strict=False)
    ]
    for member, row in group.seated:
        leaf = 0 if parts is None else parts.waiting[member]
        seats.append((leaf, (view.orders[member], row), int(view.shapes[member])))
    return _ranks(nodes, levels, seats)


def ranks_of_seated(snapshot: Snapshot, policy: Policy, group: Group, rows: Rows) -> RankAnswer | None:
    """Of members that run, by their places among the pods that are bound."""
    bound = snapshot.bound
    staying = rows[~bound.terminating[rows]]
    columns = (bound.occupants, bound.group, bound.node, bound.needs, bound.labels)
    seats = [
        (leaf, (one.order, node), (needs, labels, one.claims))
        for one, leaf, node, needs, labels in zip(*(of[staying].tolist() for of in columns), strict=True)
    ]
    levels = known_levels(policy, snapshot) or _own_levels(snapshot.nodes, group)
    return _ranks(snapshot.nodes, levels, seats)


def _own_levels(nodes: NodeView, group: Group) -> tuple[Level, ...]:
    """Where nobody else names a level: those that the group names, fewest domains first."""
    sized = sorted((len(nodes.column(key).values), key) for key in set(named_keys(group.topology)))
    return tuple(Level(key, key) for _, key in sized)


Seat = tuple[int, tuple[MemberOrder, int], Hashable]
"""The number of the leaf, the place in the order and on which node, and what tells shapes apart."""


def _ranks(nodes: NodeView, levels: Sequence[Level], seats: Iterable[Seat]) -> RankAnswer | None:
    """Each part of a tree has indexes of its own: neighbours are within one. How few it could be is known
    where the members of every part are alike."""
    lines: dict[int, list[tuple[MemberOrder, int]]] = {}
    shapes: dict[int, set[Hashable]] = {}
    for leaf, seat, shape in seats:
        lines.setdefault(leaf, []).append(seat)
        shapes.setdefault(leaf, set()).add(shape)
    scales = Scales.of(nodes, levels)
    ranked = {leaf: line for leaf, own in lines.items() if (line := RankedSeats.of(own)).pairs}
    if not levels or not ranked:
        return None
    alike = all(len(shapes[leaf]) == 1 for leaf in ranked)
    found = [sum(each) for each in zip(*(line.crossings(scales) for line in ranked.values()), strict=True)]
    least: Sequence[int | None] = [None] * len(found)
    if alike:
        least = [sum(each) for each in zip(*(line.least(scales) for line in ranked.values()), strict=True)]
    names = [level.name for level in reversed(levels)]
    pairs = sum(line.pairs for line in ranked.values())
    return RankAnswer(pairs, tuple(LevelCrossings(*one) for one in zip(names, found, least, strict=False)))
