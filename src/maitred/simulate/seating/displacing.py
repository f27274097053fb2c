"""Orders by run time: a party that waits may take the place of running ones that the order puts behind it.

Parties are compared when something happens, but no more often than the policy says. Who is sent away ranks
strictly lower and is needed for seats that were found; whoever can stay beside those seats stays. They leave
at once, whatever grace or protection they ask for. Where the order is by priority alone, `decide` chooses who
has to go.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from maitred.model.node import Node
from maitred.model.policy import Policy
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.party import Party
from maitred.simulate.seating.amounts import Footprint
from maitred.simulate.seating.arrangement import Seats, seats_of
from maitred.simulate.seating.kin import Waiter
from maitred.simulate.seating.seater import Moves, Removal, Seating
from maitred.simulate.seating.whole_groups import WholeGroups


class Displacing(WholeGroups):
    def __init__(self, nodes: Iterable[Node], policy: Policy) -> None:
        super().__init__(nodes, policy)
        self._interval = round(policy.redecide_seconds * SECOND)
        self._next_comparison: Time = 0
        self._sitting: dict[Party, Footprint] = {}

    def seated(self, party: Party, members: Sequence[int]) -> None:
        super().seated(party, members)
        self._sitting[party] = self._footprint(party, party.sitters())

    def unseated(self, party: Party, members: Sequence[int]) -> None:
        super().unseated(party, members)
        left = [member for member in party.sitters() if member not in members]
        if left:
            self._sitting[party] = self._footprint(party, left)
        else:
            del self._sitting[party]

    def _footprint(self, party: Party, members: Iterable[int]) -> Footprint:
        seats = [(member, party.seats[member]) for member in members]
        return self.amounts.footprint(party, seats, self.state.nodes)

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
        """For the first in the order for whom others can be sent away.

        The further a waiter is behind, the fewer are behind it: they come back one by one.
        """
        order = sorted((self._turn(party, now).strength, party.number, party) for party in self._sitting)
        strengths, parties = [strength for strength, _, _ in order], [party for _, _, party in order]
        free, first = self.state.free(), 0
        for party in parties:
            self._sitting[party].add_to(free)
        for waiter in sorted((kin.first for kin in self._kins.values()), key=lambda waiter: waiter.turn):
            behind = bisect_right(strengths, waiter.turn.strength)
            for party in parties[first:behind]:
                self._sitting[party].take_from(free)
            first = behind
            party = waiter.party
            if not party.has_quorum and self.amounts.could_sit(party, self.state.nodes, free):
                moves = self._in_place_of(parties[behind:], waiter, now)
                if moves is not None:
                    return moves
        return Moves()

    def _in_place_of(self, lesser: Sequence[Party], waiter: Waiter, now: Time) -> Moves | None:
        """In place of as few as there seem to be enough, or else of all of them."""
        few = lesser[self._first_to_go(lesser, waiter.party) :]
        for gone in (few, lesser) if len(few) < len(lesser) else (lesser,):
            found = self._seats_without(gone, waiter, now)
            if found:
                needed = self._who_cannot_stay(gone, waiter.party, found)
                name = waiter.party.name
                removals = [Removal(party, party.sitters(), name, at_once=True) for party in needed]
                return Moves(removals=removals, seatings=[Seating(waiter.party, found)])
        return None

    def _first_to_go(self, lesser: Sequence[Party], party: Party) -> int:
        """From whom on, in the order, all must go for there to be room by amounts."""
        free, gone_from = self.state.free(), len(lesser)
        room_from, none_from = 0, len(lesser)
        while none_from - room_from > 1:
            middle = (none_from + room_from) // 2
            for other in lesser[middle:gone_from]:
                self._sitting[other].add_to(free)
            for other in lesser[gone_from:middle]:
                self._sitting[other].take_from(free)
            gone_from = middle
            if self.amounts.could_sit(party, self.state.nodes, free):
                room_from = middle
            else:
                none_from = middle
        return room_from

    def _seats_without(self, gone: Sequence[Party], waiter: Waiter, now: Time) -> Seats | None:
        for party in gone:
            self._delete_pods(party, party.sitters())
        found = seats_of(self._decide([waiter], now).binds).get(waiter.turn.key)
        for party in gone:
            self._put_pods(party, party.sitters())
        return found

    def _who_cannot_stay(self, gone: Sequence[Party], party: Party, found: Seats) -> list[Party]:
        """Those whose own seats are taken. The better they rank, the sooner they may keep them."""
        free, needed = self.state.free(), []
        for other in gone:
            self._sitting[other].add_to(free)
        self.amounts.footprint(party, found, self.state.nodes).take_from(free)
        for other in gone:
            footprint = self._sitting[other]
            footprint.take_from(free)
            if footprint.overdraws(free):
                footprint.add_to(free)
                needed.append(other)
        return needed
