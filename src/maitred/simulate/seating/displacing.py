"""Preemptive orders: a party that waits may take the place of running ones that the order puts behind it.

Parties are compared when something happens, but no more often than the policy says. Who is sent away ranks
strictly lower and is needed for seats that were found; whoever can stay beside those seats stays.
"""

from collections.abc import Iterable, Sequence

from maitred.cluster.nodes import Ints
from maitred.cluster.state import Delete, Put
from maitred.model.node import Node
from maitred.model.pod import Pod
from maitred.model.policy import Policy
from maitred.simulate.clock import Time, seconds
from maitred.simulate.party import Party
from maitred.simulate.seating.kin import Rank, Waiter
from maitred.simulate.seating.objects import pod, pod_key
from maitred.simulate.seating.seater import Moves, Removal, Seating
from maitred.simulate.seating.whole_groups import WholeGroups, seats_of

Seats = Iterable[tuple[int, str]]


class Displacing(WholeGroups):
    def __init__(self, nodes: Iterable[Node], policy: Policy) -> None:
        super().__init__(nodes, policy)
        self._interval = seconds(policy.redecide_seconds)
        self._next_comparison: Time = 0
        self._sitting: dict[Party, None] = {}

    def seated(self, party: Party, members: Sequence[int]) -> None:
        super().seated(party, members)
        self._sitting[party] = None

    def unseated(self, party: Party, members: Sequence[int]) -> None:
        super().unseated(party, members)
        if len(members) == party.sitting:
            del self._sitting[party]

    def next_look(self, now: Time) -> Time | None:
        """As long as there are some to compare."""
        return self._next_comparison if self._kins and self._sitting and self._interval else None

    def cycle(self, now: Time) -> Moves:
        moves = super().cycle(now)
        if moves or now < self._next_comparison:
            return moves
        moves = self._displace(now)
        if not moves:
            self._next_comparison = now + self._interval
        return moves

    def _displace(self, now: Time) -> Moves:
        """For the first in the order for whom others can be sent away."""
        sitting = sorted((self._rank(party, now), party.number, party) for party in self._sitting)
        for waiter in sorted((kin.first for kin in self._kins.values()), key=lambda first: first.rank):
            lesser = [party for rank, _, party in sitting if is_ahead(waiter.rank, rank)]
            if lesser and not waiter.party.has_quorum:
                moves = self._in_place_of(lesser, waiter, now)
                if moves is not None:
                    return moves
        return Moves()

    def _in_place_of(self, lesser: Sequence[Party], waiter: Waiter, now: Time) -> Moves | None:
        gone = lesser[self._first_to_go(waiter.party, lesser) :]
        if not gone:
            return None
        for party in gone:
            for member in party.sitters():
                self.state.apply(Delete(Pod, pod_key(party.job, member)))
        found = seats_of(self._decide([waiter], now)).get(waiter.rank.key)
        needed = self._who_cannot_stay(gone, waiter.party, found) if found else []
        for party in gone:
            for member in party.sitters():
                self.state.apply(Put(pod(party, member, party.seats[member])))
        if not found:
            return None
        removals = [Removal(party, waiter.party.name) for party in needed]
        return Moves(removals=removals, seatings=[Seating(waiter.party, found)])

    def _first_to_go(self, party: Party, lesser: Sequence[Party]) -> int:
        """From whom on, in the order, all must go for there to be room; past the last if that will not do."""
        few, many = len(lesser), 0
        if not self._room_without(lesser, party):
            return len(lesser)
        while few - many > 1:
            middle = (few + many) // 2
            if self._room_without(lesser[middle:], party):
                many = middle
            else:
                few = middle
        return many

    def _room_without(self, gone: Iterable[Party], party: Party) -> bool:
        free = self.state.free()
        for other in gone:
            self._charge(free, other, seats_of_party(other), -1)
        return self._could_sit(party, free)

    def _who_cannot_stay(self, gone: Iterable[Party], party: Party, found: Seats) -> list[Party]:
        """Those whose own seats are taken. The better they rank, the sooner they may keep them."""
        free, needed = self.state.free(), []
        self._charge(free, party, found, +1)
        for other in gone:
            self._charge(free, other, seats_of_party(other), +1)
            if (free < 0).any():
                self._charge(free, other, seats_of_party(other), -1)
                needed.append(other)
        return needed

    def _charge(self, free: Ints, party: Party, seats: Seats, sign: int) -> None:
        nodes = self.state.nodes
        for member, node in seats:
            for resource, requested in self._requests_of(party.job.crew_of[member].spec):
                column = nodes.resource_column(resource)
                if column is not None:
                    free[column, nodes.rows[node]] -= sign * requested


def seats_of_party(party: Party) -> list[tuple[int, str]]:
    return [(member, party.seats[member]) for member in party.sitters()]


def is_ahead(rank: Rank, other: Rank) -> bool:
    """Strictly, by priority and measure. To be older is no reason to take another's place."""
    return rank[:2] < other[:2]
