"""How many neighbours of a group sit apart, by level, and how few it could be on the same seats."""

from collections.abc import Iterable, Sequence

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import NodeView
from maitred.cluster.snapshot import MemberOrder, Snapshot
from maitred.decide.levels import known_levels, named_keys
from maitred.decide.ranks import Line, Scales
from maitred.decide.record import TriedGroup
from maitred.explain.why.answer import LevelCrossings, RankAnswer
from maitred.model.group import Group
from maitred.model.policy import Level, Policy


def ranks_of_decided(nodes: NodeView, levels: Sequence[Level], group: TriedGroup) -> RankAnswer | None:
    """Of members that run, or are bound now."""
    view = group.view
    if view.parts is not None:  # each part of a tree has indexes of its own
        return None
    seats = [(one.order, one.node) for one in view.running]
    seats += [(view.orders[member], row) for member, row in group.seated]
    shapes = {*view.running_shapes.tolist(), *(int(view.shapes[member]) for member, _ in group.seated)}
    return _ranks(nodes, levels, seats, one_shape=len(shapes) == 1)


def ranks_of_seated(snapshot: Snapshot, policy: Policy, group: Group, rows: Rows) -> RankAnswer | None:
    """Of members that run, by their places among the pods that are bound."""
    bound = snapshot.bound
    staying = rows[~bound.terminating[rows]]
    occupants = bound.occupants[staying].tolist()
    seats = [(one.order, row) for one, row in zip(occupants, bound.node[staying].tolist(), strict=True)]
    alike = {
        (needs, labels, one.claims)
        for needs, labels, one in zip(
            bound.needs[staying].tolist(), bound.labels[staying].tolist(), occupants, strict=True
        )
    }
    levels = known_levels(policy, snapshot) or _own_levels(snapshot.nodes, group)
    return _ranks(snapshot.nodes, levels, seats, one_shape=len(alike) == 1)


def _own_levels(nodes: NodeView, group: Group) -> tuple[Level, ...]:
    """Where nobody else names a level: those that the group names, fewest domains first."""
    sized = sorted((len(nodes.column(key).values), key) for key in set(named_keys(group.topology)))
    return tuple(Level(key, key) for _, key in sized)


def _ranks(
    nodes: NodeView, levels: Sequence[Level], seats: Iterable[tuple[MemberOrder, int]], one_shape: bool
) -> RankAnswer | None:
    line, scales = Line.of(seats), Scales.of(nodes, levels)
    if not levels or not line.pairs:
        return None
    found = line.crossings(scales)
    least = line.least(scales) if one_shape else (None,) * len(found)
    names = [level.name for level in reversed(levels)]
    return RankAnswer(
        line.pairs, tuple(LevelCrossings(*one) for one in zip(names, found, least, strict=False))
    )
