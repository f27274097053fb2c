"""The seater for lone pods that take whole devices or a share of one, by the rule that the policy names.

Pods are tried by priority, then by arrival. What they say of other pods, ports and volumes is not read, and
nobody is preempted.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from maitred.cluster.nodes import Mask, NodeView
from maitred.decide.shares.prices import Floats
from maitred.model.node import Node
from maitred.model.policy import Placement, Policy
from maitred.simulate.clock import Time
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.jobs import Workload
from maitred.simulate.seating.columns import PodLoad, Rows, open_nodes
from maitred.simulate.seating.pod_queues import PodQueue, Untold, serve_in_turns
from maitred.simulate.seating.seater import Moves, SeatAssignment
from maitred.simulate.seating.shares.asks import ShareRequest, ask_of, asks_of
from maitred.simulate.seating.shares.best_fit import BestFit
from maitred.simulate.seating.shares.fragmentation import FragmentationGradient
from maitred.simulate.seating.shares.least_loss import LeastLoss
from maitred.simulate.seating.shares.room import DeviceRoom
from maitred.simulate.seating.shares.rule import NO_ROOM, PlacementRule

RULES: Mapping[Placement, Callable[[DeviceRoom, Counter[ShareRequest]], PlacementRule]] = {
    "best-fit": lambda room, demand: BestFit(room),
    "fragmentation-gradient": FragmentationGradient,
    "least-loss": LeastLoss,
}


class JudgedLine(PodQueue):
    """All who wait and ask for the same, and what the rule thinks of each node for them."""

    def __init__(self, ask: ShareRequest, room: DeviceRoom) -> None:
        super().__init__()
        self.ask, self.load = ask, PodLoad(ask.kind, room.columns.table)
        self.scores: Floats = np.full(len(room), NO_ROOM)
        self.devices: Rows = np.zeros(len(room), dtype=np.intp)
        self.seen = 0
        """The last change of the room that `scores` know of."""
        self._nodes: NodeView | None = None
        self._open: Mask = np.zeros(len(room), dtype=np.bool_)

    def look(self, room: DeviceRoom, rule: PlacementRule) -> None:
        if self._nodes is not room.view:
            self._nodes = room.view
            self._open = open_nodes(self._nodes, self.ask.kind)
        rows = room.changed_since(self.seen)
        self.seen = room.changes
        self.scores[rows] = NO_ROOM
        rows = rows[self._open[rows]]
        rows = rows[room.fits(self.ask, self.load, rows)]
        if len(rows):
            self.scores[rows], self.devices[rows] = rule.judge(self.ask, rows)


class Seat(NamedTuple):
    line: JudgedLine
    node: str
    devices: tuple[int, ...]


class SharedDevices(Untold):
    """A `Seater`. The rule knows beforehand what all pods of the workload ask for."""

    def __init__(self, nodes: Sequence[Node], policy: Policy, workload: Workload) -> None:
        self._room = DeviceRoom(nodes, policy)
        self._rule = RULES[policy.placement](self._room, asks_of(workload))
        self._lines: dict[ShareRequest, JudgedLine] = {}
        self._busy: dict[JudgedLine, None] = {}
        """Those in which someone waits, among others."""
        self._line_of: dict[SimulatedGroup, JudgedLine] = {}
        self._seats: dict[SimulatedGroup, Seat] = {}

    def node_changed(self, node: Node) -> None:
        self._room.put(node)

    def wants(self, group: SimulatedGroup, now: Time) -> None:
        if group not in self._line_of:
            self._line_of[group] = self._line(ask_of(group.job.crews[0]))
        line = self._line_of[group]
        line.join(group, 0)
        self._busy[line] = None

    def _line(self, ask: ShareRequest) -> JudgedLine:
        if ask not in self._lines:
            self._lines[ask] = JudgedLine(ask, self._room)
        return self._lines[ask]

    def seated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """It is counted already, by the cycle that chose its node."""

    def unseated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        line, node, devices = self._seats.pop(group)
        self._room.give_back(line.ask, line.load, node, devices)

    def leaves(self, group: SimulatedGroup) -> None:
        self._line_of.pop(group).quit(group)

    def cycle(self, now: Time) -> Moves:
        seatings: list[SeatAssignment] = []

        def serve(line: JudgedLine) -> bool:
            line.look(self._room, self._rule)
            if line.scores.max(initial=NO_ROOM) == NO_ROOM:
                return False
            seatings.append(self._seat(line))
            return True

        self._busy = {line: None for line in self._busy if line.queue}
        serve_in_turns(filter(self._may_have_room, self._busy), serve)
        return Moves(seatings=seatings)

    def _may_have_room(self, line: JudgedLine) -> bool:
        """A line that found no node when it last looked need not look again before something changes."""
        return line.seen < self._room.changes

    def _seat(self, line: JudgedLine) -> SeatAssignment:
        """The first of the line takes the best node; of equals the first, so that they are filled one after
        the other."""
        row = int(line.scores.argmax())
        group, ask, node = line.queue[0].group, line.ask, self._room.view.names[row]
        shared = int(line.devices[row]) if ask.shares else None
        devices = self._room.whole_devices(row, ask.devices) if shared is None else (shared,)
        self._room.take(ask, line.load, node, devices)
        self._seats[group] = Seat(line, node, devices)
        return SeatAssignment(group, ((0, node),), shared)
