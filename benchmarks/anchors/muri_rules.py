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
from maitred.simulate.jobs import WHOLE
from maitred.simulate.loop import Loop, Watcher
from maitred.simulate.party import Party, Stretch
from maitred.simulate.seating.lines import Untold
from maitred.simulate.seating.orders import Measure
from maitred.simulate.seating.seater import Moves, Removal, Seating

NODES = tuple(f"n{number}" for number in range(1, 9))
DEVICES = 8
"""Of each node."""
QUEUE_LIMITS = (3250, 7200)
"""Device-seconds of service with which a job leaves the first and the second queue."""
TOGETHER = 10**9
"""Jobs whose ends differ by less than one part of so many end together."""


class Order(Protocol):
    """Who is offered seats before whom."""

    def arrives(self, party: Party) -> None: ...

    def leaves(self, party: Party) -> None: ...

    def line(self, sitting: Sequence[Party], now: Time) -> Iterable[Party]:
        """All who are there. `sitting` are those who had seats up to now."""

    def seated(self, sitting: Sequence[Party], now: Time) -> Time | None:
        """These have seats from now on. When time alone will change the line, if it ever will."""


class Shortest:
    """By a measure of what is left. Where that is the same, the line stays as it was."""

    def __init__(self, measure: Measure) -> None:
        self._measure = measure
        self._left: dict[Party, float] = {}
        self._line: list[Party] = []

    def arrives(self, party: Party) -> None:
        self._left[party] = self._measure(party, party.job.arrival)
        self._line.append(party)

    def leaves(self, party: Party) -> None:
        del self._left[party]
        self._line.remove(party)

    def line(self, sitting: Sequence[Party], now: Time) -> Iterable[Party]:
        for party in sitting:
            self._left[party] = self._measure(party, now)
        self._line.sort(key=self._left.__getitem__)
        return self._line

    def seated(self, sitting: Sequence[Party], now: Time) -> Time | None:
        return None


class LeastAttained:
    """Tiresias-L: three queues by the service that jobs have had. In each, those who sit come first."""

    def __init__(self) -> None:
        self._queues: tuple[list[Party], ...] = tuple([] for _ in (*QUEUE_LIMITS, None))
        self._queue_of: dict[Party, int] = {}

    def arrives(self, party: Party) -> None:
        self._join(party, 0)

    def leaves(self, party: Party) -> None:
        self._queues[self._queue_of.pop(party)].remove(party)

    def line(self, sitting: Sequence[Party], now: Time) -> Iterable[Party]:
        for party in sorted(sitting, key=lambda party: party.number):
            queue = self._queue_of[party]
            if queue < len(QUEUE_LIMITS) and party.attained(now) >= QUEUE_LIMITS[queue] * SECOND * WHOLE:
                self.leaves(party)
                self._join(party, queue + 1)
        return chain.from_iterable(self._queues)

    def seated(self, sitting: Sequence[Party], now: Time) -> Time | None:
        sits = set(sitting).__contains__
        for queue in self._queues:
            queue.sort(key=sits, reverse=True)
        jumpers = (party for party in sitting if self._queue_of[party] < len(QUEUE_LIMITS))
        return min((now + self._time_to_jump(party, now) for party in jumpers), default=None)

    def _join(self, party: Party, queue: int) -> None:
        self._queue_of[party] = queue
        self._queues[queue].append(party)

    def _time_to_jump(self, party: Party, now: Time) -> Time:
        """How long it has to run for the limit is rounded up to whole seconds."""
        needed = -(-QUEUE_LIMITS[self._queue_of[party]] // party.job.devices) * SECOND
        return needed - party.attained(now) // party.job.load


class Muri(Untold, Watcher):
    """A seater, and a watcher that tells the books what is lost."""

    def __init__(self, order: Order, overheads: Mapping[str, Time]) -> None:
        self._order, self._overheads = order, overheads
        self._sitting: list[Party] = []
        self._since: Time = 0
        """When those who sit were seated."""
        self._changed = False
        self._last_end: Time | None = None
        self._jump: Time | None = None
        self._lost: list[Stretch] = []

    # -- what happens ----------------------------------------------------------------------------------

    def wants(self, party: Party, now: Time) -> None:
        has_just_arrived = party.first_seated is None
        if has_just_arrived:
            self._order.arrives(party)
            self._changed = True

    def leaves(self, party: Party) -> None:
        self._order.leaves(party)
        self._sitting.remove(party)
        self._last_end = party.ended
        self._changed = True

    def moves(self, loop: Loop, moves: Moves) -> None:
        loop.books.meter.lose(self._lost, "lostToEviction")
        self._lost = []

    def seated(self, party: Party, members: Sequence[int]) -> None: ...

    def unseated(self, party: Party, members: Sequence[int]) -> None: ...

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
        ending = [party for party in self._sitting if is_near(now, now + time_left(party, now))]
        for party in ending:
            party.lost -= time_left(party, now) * party.speed
        return Moves(
            removals=[removal_of(party) for party in ending],
            seatings=[Seating(party, list(enumerate(party.seats))) for party in ending],
        )

    def _seat_anew(self, now: Time) -> Moves:
        for party in self._sitting:
            self._charge(party, now)
        seatings = first_fits(self._order.line(self._sitting, now))
        removals = [removal_of(party) for party in self._sitting]
        self._sitting, self._since = [seating.party for seating in seatings], now
        self._jump = self._order.seated(self._sitting, now)
        return Moves(removals=removals, seatings=seatings)

    def _charge(self, party: Party, now: Time) -> None:
        lost = min(now - self._since, self._overheads[party.name])
        party.lost += lost * party.speed
        self._lost.append(Stretch(now - lost, now, party.speed, party.load))


def removal_of(party: Party) -> Removal:
    """Nobody in particular takes its place."""
    return Removal(party, party.sitters(), "", at_once=True)


def is_near(end: Time, other: Time) -> bool:
    return (other - end) * TOGETHER <= other


def time_left(party: Party, now: Time) -> Time:
    return (party.remaining(now) or 0) // party.speed


def first_fits(line: Iterable[Party]) -> list[Seating]:
    """Each on the first node that has room, or on whole nodes; who does not fit is passed over.

    For Tiresias-L Muri only counts devices. As all sizes are powers of two, that comes to the same: nothing
    that there are devices for is ever kept out by gaps.
    """
    free, left = dict.fromkeys(NODES, DEVICES), len(NODES) * DEVICES * WHOLE
    seatings = []
    for party in line:
        if party.job.load > left:
            continue
        crew = party.job.crews[0]
        nodes = [node for node in NODES if free[node] >= crew.devices][: crew.count]
        if len(nodes) == crew.count:
            for node in nodes:
                free[node] -= crew.devices
            left -= party.job.load
            seatings.append(Seating(party, list(enumerate(nodes))))
        if not left:
            break
    return seatings
