"""Who waits, in lines of those who are alike: where the first finds no seat, nobody behind it does."""

from bisect import insort
from collections.abc import Callable, Iterable, Mapping, Sequence
from heapq import heapify, heappop, heapreplace
from operator import attrgetter
from typing import NamedTuple, TypeVar

from maitred.simulate.clock import SECOND, Time
from maitred.simulate.party import Party
from maitred.simulate.seating.seater import UNDIAGNOSED

Rank = tuple[int, Time, int, int]

CREATION = SECOND // 10
"""Between two pods of a job: two jobs that come together share the 20 writes a second that a controller
manager allows itself by default."""


class Waiting(NamedTuple):
    """A member who wants a seat."""

    rank: Rank
    party: Party
    member: int


rank_of = attrgetter("rank")


class Line:
    def __init__(self) -> None:
        self.queue: list[Waiting] = []

    def join(self, party: Party, member: int) -> None:
        insort(self.queue, Waiting(_rank(party, member), party, member), key=rank_of)

    def quit(self, party: Party) -> None:
        self.queue = [waiting for waiting in self.queue if waiting.party is not party]


class Untold:
    """The part of a `Seater` that sends nobody away, and has nothing to say but that there was no seat."""

    def leaving(self, party: Party, members: Sequence[int]) -> None:
        """Nobody ever is."""

    def waited(self, party: Party, since: Time, now: Time) -> Mapping[str, Time]:
        return {UNDIAGNOSED: now - since}

    def why(self, party: Party) -> str:
        return UNDIAGNOSED

    def next_look(self, now: Time) -> Time | None:
        return None


L = TypeVar("L", bound=Line)


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


def _rank(party: Party, member: int) -> Rank:
    return -party.job.priority, party.created[member] + member * CREATION, party.number, member
