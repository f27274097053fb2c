"""Whether groups that sit in part block each other for good."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from maitred.cluster.nodes import NodeView
from maitred.cluster.supply.columns import copies_that_fit
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.columns import PodKind, kind_of, open_nodes


def deadlocked(
    nodes: NodeView, incomplete: Iterable[SimulatedGroup], staying: Iterable[SimulatedGroup] = ()
) -> bool:
    """Whether none of the incomplete groups could be completed if all others finished and nobody else came.

    `nodes` are the nodes in good order: what is broken will be mended. `staying` are complete and never
    finish. The answer depends on nothing but the seats of all these, so it need not be asked for again until
    they change.

    Exact for groups whose missing members are of one kind. Of others, each kind is taken to have all that is
    free to itself: what is called a deadlock is one, and some may be missed.
    """
    sitting: defaultdict[PodKind, list[str]] = defaultdict(list)
    gaps = [_gap(group, sitting) for group in incomplete]
    if not gaps:
        return False
    for group in staying:
        _gap(group, sitting)
    rooms = _Rooms(nodes, sitting)
    return not any(rooms.hold(gap) for gap in gaps)


@dataclass(frozen=True, slots=True)
class _Gap:
    """How many members a group lacks, and who could be among them."""

    size: int
    standing: Counter[PodKind]


def _gap(group: SimulatedGroup, sitting: defaultdict[PodKind, list[str]]) -> _Gap:
    """Those of the group who sit are added to `sitting`."""
    standing = Counter[PodKind]()
    end = 0
    for crew in group.job.crews:
        start, end = end, end + crew.count
        kind, seats = kind_of(crew.spec), [seat for seat in group.seats[start:end] if seat]
        standing[kind] += crew.count - len(seats)
        if seats:
            sitting[kind] += seats
    return _Gap(group.job.quorum - group.job.members + standing.total(), standing)


class _Rooms:
    """What some who sit leave of the nodes to others."""

    def __init__(self, nodes: NodeView, sitting: Mapping[PodKind, list[str]]) -> None:
        self._nodes = nodes
        self._free = nodes.allocatable.copy()
        self._copies: dict[PodKind, int] = {}
        for kind, seats in sitting.items():
            here = np.bincount([nodes.rows[seat] for seat in seats], minlength=len(nodes.names))
            for resource, amount in kind.requests:
                self._free[nodes.resource_column(resource)] -= amount * here

    def hold(self, gap: _Gap) -> bool:
        return gap.size <= sum(min(count, self._room_for(kind)) for kind, count in gap.standing.items())

    def _room_for(self, kind: PodKind) -> int:
        """How many of the kind there is room for, on all nodes together."""
        if kind not in self._copies:
            copies = copies_that_fit(self._free.__getitem__, self._nodes, kind.requests)
            self._copies[kind] = int(copies[open_nodes(self._nodes, kind)].sum())
        return self._copies[kind]
