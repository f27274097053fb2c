"""The baseline without groups: each pod on its own, as kube-scheduler seats those of which it knows no group.

It shows what partial gangs cost, and exists in simulations only. Every pod that waits is tried in every
cycle, by priority, then in the order in which pods are created. What jobs and pods say of topology,
ports, volumes and other pods is not read, and nobody is preempted. Each pod has a sample of the nodes of its
own; since 1.35 like pods that follow each other within half a second of real time may share one.
"""

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from maitred.cluster.nodes import Ints, Mask, NodeView
from maitred.model.node import Node
from maitred.simulate.clock import Time
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.columns import CLOSED, NodeColumns, PodKind, PodLoad, kind_of, open_nodes
from maitred.simulate.seating.kube_scores import nodes_to_score
from maitred.simulate.seating.pod_queues import PodQueue, Untold, serve_in_turns
from maitred.simulate.seating.seater import Moves, SeatAssignment


class ScoredLine(PodQueue):
    """All who wait and are of one kind, and what each node is worth to them."""

    def __init__(self, load: PodLoad) -> None:
        super().__init__()
        self.load = load
        self.worth: Ints = np.zeros(0, dtype=np.int64)
        self.seen = 0
        """The last change of the columns that `worth` knows of."""
        self._nodes: NodeView | None = None
        self._open: Mask = np.zeros(0, dtype=np.bool_)

    def look(self, columns: NodeColumns) -> None:
        """Bring `worth` up to date."""
        if self._nodes is not columns.view:
            self._nodes = columns.view
            self._open = open_nodes(self._nodes, self.load.kind)
            rows = np.arange(len(columns))
            self.worth = np.full(len(columns), CLOSED, dtype=np.int64)
        else:
            rows = np.flatnonzero(columns.changed > self.seen)
        rows = rows[self._open[rows]]
        if len(rows):
            self.worth[rows] = columns.worth(self.load, rows)
        self.seen = columns.changes


class PodByPod(Untold):
    """A `Seater`."""

    def __init__(self, nodes: Sequence[Node], seed: int) -> None:
        self._columns = NodeColumns()
        self._lines: dict[PodKind, ScoredLine] = {}
        self._lines_of: dict[SimulatedGroup, tuple[ScoredLine, ...]] = {}
        self._next_row = 0
        self._dice = np.random.default_rng(seed)
        """kube-scheduler breaks ties by lot."""
        for node in nodes:
            self._columns.put(node)

    def node_changed(self, node: Node) -> None:
        self._columns.put(node)

    def wants(self, group: SimulatedGroup, now: Time) -> None:
        if group not in self._lines_of:
            self._lines_of[group] = tuple(self._line(kind_of(crew.spec)) for crew in group.job.crews)
        self._quit(group)
        line_of = self._line_of(group)
        for member in group.standing():
            line_of[member].join(group, member)

    def _line(self, kind: PodKind) -> ScoredLine:
        if kind not in self._lines:
            self._lines[kind] = ScoredLine(PodLoad(kind, self._columns.table))
        return self._lines[kind]

    def _quit(self, group: SimulatedGroup) -> None:
        for line in self._lines_of[group]:
            line.quit(group)

    def _line_of(self, group: SimulatedGroup) -> list[ScoredLine]:
        """The line of each member."""
        pairs = zip(group.job.crews, self._lines_of[group], strict=True)
        return [line for crew, line in pairs for _ in range(crew.count)]

    def seated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """They are counted already, by the cycle that chose their nodes."""

    def unseated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        line_of = self._line_of(group)
        for member in members:
            self._columns.give_back(line_of[member].load, group.seats[member])

    def leaves(self, group: SimulatedGroup) -> None:
        self._quit(group)
        del self._lines_of[group]

    def cycle(self, now: Time) -> Moves:
        chosen: defaultdict[SimulatedGroup, list[tuple[int, str]]] = defaultdict(list)

        def serve(line: ScoredLine) -> bool:
            node = self._choose(line)
            if node is not None:
                self._columns.take(line.load, node)
                chosen[line.queue[0].group].append((line.queue[0].member, node))
            return node is not None

        serve_in_turns(filter(self._may_have_room, self._lines.values()), serve)
        return Moves(seatings=[SeatAssignment(group, seats) for group, seats in chosen.items()])

    def _may_have_room(self, line: ScoredLine) -> bool:
        """A line that found no node when it last looked need not look again before something changes."""
        return bool(line.queue) and line.seen < self._columns.changes

    def _choose(self, line: ScoredLine) -> str | None:
        """The best node, by lot among equals; of large clusters, from where the pod before left off."""
        line.look(self._columns)
        rows = np.flatnonzero(line.worth != CLOSED)
        if not len(rows):
            return None
        enough = nodes_to_score(len(self._columns))
        if len(rows) > enough:
            start = np.searchsorted(rows, self._next_row)
            circle = np.concatenate((rows[start:], rows[:start]))
            rows, self._next_row = circle[:enough], int(circle[enough])
        worth = line.worth[rows]
        best = rows[worth == worth.max()]
        row = int(best[self._dice.integers(len(best))] if len(best) > 1 else best[0])
        return self._columns.view.names[row]
