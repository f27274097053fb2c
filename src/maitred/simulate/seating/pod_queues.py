"""Who waits, in queues of those who are alike: where the first finds no seat, nobody behind it does."""

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from operator import attrgetter
from typing import NamedTuple, TypeVar

from maitred.simulate.clock import SECOND, Time
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.seater import UNDIAGNOSED

Rank = tuple[int, Time, int, int]

CREATION = SECOND // 10
"""Between two pods of a job: two jobs that come together share the 20 writes a second that a controller
manager allows itself by default."""


class Waiting(NamedTuple):
    """A member who wants a seat."""

    rank: Rank
    group: SimulatedGroup
    member: int


rank_of = attrgetter("rank")


class PodQueue:
    def __init__(self) -> None:
        self.queue: list[Waiting] = []

    def join(self, group: SimulatedGroup, member: int) -> None:
        insort(self.queue, Waiting(_rank(group, member), group, member), key=rank_of)

    def quit(self, group: SimulatedGroup) -> None:
        self.queue = [waiting for waiting in self.queue if waiting.group is not group]


class Untold:
    """The part of a `Seater` that sends nobody away, and has nothing to say but that there was no seat."""

    def changed(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """It makes no difference until they are created anew."""

    def leaving(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        """Nobody ever is."""

    def waited(self, group: SimulatedGroup, since: Time, now: Time) -> Mapping[str, Time]:
        return {UNDIAGNOSED: now - since}

    def why(self, group: SimulatedGroup) -> str:
        return UNDIAGNOSED

    @property
    def spares(self) -> Collection[str]:
        return ()

    def next_look(self, now: Time) -> Time | None:
        return None


L = TypeVar("L", bound=PodQueue)


def serve_in_turns(lines: Iterable[L], serve: Callable[[L], bool]) -> None:
    """Lines take turns by who is first in each. `serve` seats that one, or else the line is done: nothing
    gets freer."""
    heads = [(line.queue[0].rank, line) for line in lines]
    heapify(heads)
    while heads:
        line = heads[0][1]
        if serve(line):
            del line.queue[0]
            if line.queue:
                heapreplace(heads, (line.queue[0].rank, line))
                continue
        heappop(heads)


def _rank(group: SimulatedGroup, member: int) -> Rank:
    return -group.job.priority, group.created[member] + member * CREATION, group.number, member
