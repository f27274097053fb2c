"""The rules of Muri's simulator (SIGCOMM '22) that are not maitred's, as a seater on maitred's loop.

At every arrival, end and jump between queues all running jobs are stopped, which costs each of them part of
what it did since the last time, and seats are given out anew from an empty cluster. Whoever ends is not
charged for the last time, and ends that are very close are one.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Protocol

from maitred.model.node import Node
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.group import SimulatedGroup, Stretch
from maitred.simulate.jobs import WHOLE
from maitred.simulate.loop import RunObserver, Simulation
from maitred.simulate.seating.orders import Measure
from maitred.simulate.seating.pod_queues import Untold
from maitred.simulate.seating.seater import Moves, Removal, SeatAssignment

NODES = tuple(f"n{number}" for number in range(1, 9))
DEVICES = 8
"""Of each node."""
QUEUE_LIMITS = (3250, 7200)
"""Device-seconds of service with which a job leaves the first and the second queue."""
TOGETHER = 10**9
"""Jobs whose ends differ by less than one part of so many end together."""


class Order(Protocol):
    """Who is offered seats before whom."""

    def arrives(self, group: SimulatedGroup) -> None: ...

    def leaves(self, group: SimulatedGroup) -> None: ...

    def line(self, sitting: Sequence[SimulatedGroup], now: Time) -> Iterable[SimulatedGroup]:
        """All who are there. `sitting` are those who had seats up to now."""

    def seated(self, sitting: Sequence[SimulatedGroup], now: Time) -> Time | None:
        """These have seats from now on. When time alone will change the line, if it ever will."""


class Shortest:
    """By a measure of what is left. Where that is the same, the line stays as it was."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._left: dict[SimulatedGroup, float] = {}
        self._line: list[SimulatedGroup] = []

    def arrives(self, group: SimulatedGroup) -> None:
        self._left[group] = self._measure(group, group.job.arrival)
        self._line.append(group)

    def leaves(self, group: SimulatedGroup) -> None:
        del self._left[group]
        self._line.remove(group)

    def line(self, sitting: Sequence[SimulatedGroup], now: Time) -> Iterable[SimulatedGroup]:
        for group in sitting:
            self._left[group] = self._measure(group, now)
        self._line.sort(key=self._left.__getitem__)
        return self._line

    def seated(self, sitting: Sequence[SimulatedGroup], now: Time) -> Time | None:
        return None


class LeastAttained:
    """Tiresias-L: three queues by the service that jobs have had. In each, those who sit come first."""

    def __init__(self) -> None:
        self._queues: tuple[list[SimulatedGroup], ...] = tuple([] for _ in (*QUEUE_LIMITS, None))
        self._queue_of: dict[SimulatedGroup, int] = {}

    def arrives(self, group: SimulatedGroup) -> None:
        self._join(group, 0)

    def leaves(self, group: SimulatedGroup) -> None:
        self._queues[self._queue_of.pop(group)].remove(group)

    def line(self, sitting: Sequence[SimulatedGroup], now: Time) -> Iterable[SimulatedGroup]:
        for group in sorted(sitting, key=lambda group: group.number):
            queue = self._queue_of[group]
            if queue < len(QUEUE_LIMITS) and group.attained(now) >= QUEUE_LIMITS[queue] * SECOND * WHOLE:
                self.leaves(group)
                self._join(group, queue + 1)
        return chain.from_iterable(self._queues)

    def seated(self, sitting: Sequence[SimulatedGroup], now: Time) -> Time | None:
        sits = set(sitting).__contains__
        for queue in self._queues:
            queue.sort(key=sits, reverse=True)
        jumpers = (group for group in sitting if self._queue_of[group] < len(QUEUE_LIMITS))
        return min((now + self._time_to_jump(group, now) for group in jumpers), default=None)

    def _join(self, group: SimulatedGroup, queue: int) -> None:
        self._queue_of[group] = queue
        self._queues[queue].append(group)

    def _time_to_jump(self, group: SimulatedGroup, now: Time) -> Time:
        """How long it has to run for the limit is rounded up to whole seconds."""
        needed = -(-QUEUE_LIMITS[self._queue_of[group]] // group.job.devices) * SECOND
        return needed - group.attained(now) // group.job.load


class Muri(Untold, RunObserver):
    """A seater, and a watcher that tells the books what is lost."""

    def __init__(self, order: Order, overheads: Mapping[str, Time]) -> None:
        self._order, self._overheads = order, overheads
        self._sitting: list[SimulatedGroup] = []
        self._since: Time = 0
        """When those who sit were seated."""
        self._changed = False
        self._last_end: Time | None = None
        self._jump: Time | None = None
        self._lost: list[Stretch] = []

    # -- what happens ----------------------------------------------------------------------------------

    def wants(self, group: SimulatedGroup, now: Time) -> None:
        has_just_arrived = group.first_seated is None
        if has_just_arrived:
            self._order.arrives(group)
            self._changed = True

    def leaves(self, group: SimulatedGroup) -> None:
        self._order.leaves(group)
        self._sitting.remove(group)
        self._last_end = group.ended
        self._changed = True

    def moves(self, loop: Simulation, moves: Moves) -> None:
        loop.books.meter.lose(self._lost, "lostToEviction")
        self._lost = []

    def seated(self, group: SimulatedGroup, members: Sequence[int]) -> None: ...

    def unseated(self, group: SimulatedGroup, members: Sequence[int]) -> None: ...

    def node_changed(self, node: Node) -> None:
        raise NotImplementedError("nothing breaks in Muri's simulator")

    # -- what is asked ---------------------------------------------------------------------------------

    def cycle(self, now: Time) -> Moves:
        if not self._changed and (self._jump is None or now < self._jump):
            return Moves()
        self._changed, self._jump = False, None
        return self._end_together(now) or self._seat_anew(now)

    def next_look(self, now: Time) -> Time | None:
        return self._jump

    # -- the rules -------------------------------------------------------------------------------------

    def _end_together(self, now: Time) -> Moves:
        """Those who would end a little later than another has just done find themselves with nothing left."""
        if self._last_end != now:
            return Moves()
        ending = [group for group in self._sitting if is_near(now, now + time_left(group, now))]
        for group in ending:
            group.lost -= time_left(group, now) * group.speed
        return Moves(
            removals=[removal_of(group) for group in ending],
            seatings=[SeatAssignment(group, list(enumerate(group.seats))) for group in ending],
        )

    def _seat_anew(self, now: Time) -> Moves:
        for group in self._sitting:
            self._charge(group, now)
        seatings = first_fits(self._order.line(self._sitting, now))
        removals = [removal_of(group) for group in self._sitting]
        self._sitting, self._since = [seating.group for seating in seatings], now
        self._jump = self._order.seated(self._sitting, now)
        return Moves(removals=removals, seatings=seatings)

    def _charge(self, group: SimulatedGroup, now: Time) -> None:
        lost = min(now - self._since, self._overheads[group.name])
        group.lost += lost * group.speed
        self._lost.append(Stretch(now - lost, now, group.speed, group.load))


def removal_of(group: SimulatedGroup) -> Removal:
    """Nobody in particular takes its place."""
    return Removal(group, group.sitters(), "", at_once=True)


def is_near(end: Time, other: Time) -> bool:
    return (other - end) * TOGETHER <= other


def time_left(group: SimulatedGroup, now: Time) -> Time:
    return (group.remaining(now) or 0) // group.speed


def first_fits(line: Iterable[SimulatedGroup]) -> list[SeatAssignment]:
    """Each on the first node that has room, or on whole nodes; who does not fit is passed over.

    For Tiresias-L Muri only counts devices. As all sizes are powers of two, that comes to the same: nothing
    that there are devices for is ever kept out by gaps.
    """
    free, left = dict.fromkeys(NODES, DEVICES), len(NODES) * DEVICES * WHOLE
    seatings = []
    for group in line:
        if group.job.load > left:
            continue
        crew = group.job.crews[0]
        nodes = [node for node in NODES if free[node] >= crew.devices][: crew.count]
        if len(nodes) == crew.count:
            for node in nodes:
                free[node] -= crew.devices
            left -= group.job.load
            seatings.append(SeatAssignment(group, list(enumerate(nodes))))
        if not left:
            break
    return seatings
