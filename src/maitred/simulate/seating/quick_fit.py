"""Room by amounts: what groups take, and whether there could be seats for one, before a closer look."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec
import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.nodes import Codes, Ints, Mask, NodeView
from maitred.cluster.supply.columns import copies_that_fit
from maitred.decide.levels import codes_of, key_of_level
from maitred.model.pod import PodSpec
from maitred.model.policy import Policy
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.columns import PodKind, kind_of, open_nodes

_encode = msgspec.msgpack.Encoder().encode


class Footprint(NamedTuple):
    """What the seats of a group take: on these nodes, so much of every resource."""

    rows: Rows
    amounts: Ints

    def add_to(self, free: Ints) -> None:
        free[:, self.rows] += self.amounts

    def take_from(self, free: Ints) -> None:
        free[:, self.rows] -= self.amounts

    def overdraws(self, free: Ints) -> bool:
        return bool((free[:, self.rows] < 0).any())


class QuickFit:
    """`free` is what is left of every resource on every node, one column per node."""

    def __init__(self, policy: Policy) -> None:
        self._levels = policy.topology.levels
        self._kinds: dict[bytes, PodKind] = {}

    def could_sit(self, group: SimulatedGroup, nodes: NodeView, free: Ints) -> bool:
        """Whether there is room for the rest of its quorum, on nodes that it may use; False is certain."""
        codes = nodes.derived(("within", group.job.within), lambda: self._domains(nodes, group.job.within))
        most = np.zeros(int(codes.max(initial=-1)) + 1, dtype=np.int64)
        for kind, count in self._wanted(group):
            able = self._open_to(kind, nodes) & (codes >= 0)
            copies = np.where(able, copies_that_fit(free.__getitem__, nodes, kind.requests), 0)
            inside = np.bincount(np.maximum(codes, 0), weights=copies, minlength=len(most)).astype(np.int64)
            most += np.minimum(inside, count)
        return bool(most.max(initial=0) >= max(1, group.job.quorum - group.sitting))

    def footprint(
        self, group: SimulatedGroup, seats: Iterable[tuple[int, str]], nodes: NodeView
    ) -> Footprint:
        """Of members, by number, on these nodes."""
        taken: dict[int, Ints] = {}
        for member, node in seats:
            row = nodes.rows[node]
            if row not in taken:
                taken[row] = np.zeros(len(nodes.resources), dtype=np.int64)
            for resource, amount in self._kind(group.job.crew_of[member].spec).requests:
                column = nodes.resource_column(resource)
                if column is not None:
                    taken[row][column] += amount
        return Footprint(np.array(list(taken), dtype=np.intp), np.stack(list(taken.values()), axis=1))

    def _wanted(self, group: SimulatedGroup) -> Iterator[tuple[PodKind, int]]:
        """Kinds of members who stand, and how many of each."""
        start = 0
        for crew in group.job.crews:
            seats = group.seats[start : start + crew.count]
            start += crew.count
            if standing := seats.count(""):
                yield self._kind(crew.spec), standing

    def _open_to(self, kind: PodKind, nodes: NodeView) -> Mask:
        return nodes.derived(("open to", kind), lambda: open_nodes(nodes, kind))

    def _kind(self, spec: PodSpec) -> PodKind:
        written = _encode(spec)
        kind = self._kinds.get(written)
        if kind is None:
            kind = self._kinds[written] = kind_of(spec)
        return kind

    def _domains(self, nodes: NodeView, level: str) -> Codes:
        """The domain of each node; all nodes are one where no level is required."""
        if not level:
            return np.zeros(len(nodes.names), dtype=np.int32)
        return codes_of(nodes, key_of_level(level, self._levels))
