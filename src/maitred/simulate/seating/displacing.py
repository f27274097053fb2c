"""Orders by run time: a group that waits may take the place of running ones that the order puts behind it.

Groups are compared when something happens, but no more often than the policy says. Who is sent away ranks
strictly lower and is needed for seats that were found; whoever can stay beside those seats stays. They leave
at once, whatever grace or protection they ask for. Where the order is by priority alone, `decide` chooses who
has to go.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence

from maitred.model.node import Node
from maitred.model.policy import Policy
from maitred.simulate.clock import SECOND, Time
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.arrangement import Seats, seats_of
from maitred.simulate.seating.quick_fit import Footprint
from maitred.simulate.seating.same_requests import WaitingTurn
from maitred.simulate.seating.seater import Moves, Removal, SeatAssignment
from maitred.simulate.seating.whole_groups import WholeGroups


class Displacing(WholeGroups):
    def __init__(self, nodes: Iterable[Node], policy: Policy) -> None:
        super().__init__(nodes, policy)
        self._interval = round(policy.redecide_seconds * SECOND)
        self._next_comparison: Time = 0
        self._sitting: dict[SimulatedGroup, Footprint] = {}

    def seated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        super().seated(group, members)
        self._sitting[group] = self._footprint(group, group.sitters())

    def unseated(self, group: SimulatedGroup, members: Sequence[int]) -> None:
        super().unseated(group, members)
        left = [member for member in group.sitters() if member not in members]
        if left:
            self._sitting[group] = self._footprint(group, left)
        else:
            del self._sitting[group]

    def _footprint(self, group: SimulatedGroup, members: Iterable[int]) -> Footprint:
        seats = [(member, group.seats[member]) for member in members]
        return self.amounts.footprint(group, seats, self.state.nodes)

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
        order = sorted((self._turn(group, now).strength, group.number, group) for group in self._sitting)
        strengths, groups = [strength for strength, _, _ in order], [group for _, _, group in order]
        free, first = self.state.free(), 0
        for group in groups:
            self._sitting[group].add_to(free)
        for waiter in sorted((kin.first for kin in self._kins.values()), key=lambda waiter: waiter.turn):
            behind = bisect_right(strengths, waiter.turn.strength)
            for group in groups[first:behind]:
                self._sitting[group].take_from(free)
            first = behind
            group = waiter.group
            if not group.has_quorum and self.amounts.could_sit(group, self.state.nodes, free):
                moves = self._in_place_of(groups[behind:], waiter, now)
                if moves is not None:
                    return moves
        return Moves()

    def _in_place_of(self, lesser: Sequence[SimulatedGroup], waiter: WaitingTurn, now: Time) -> Moves | None:
        """In place of as few as there seem to be enough, or else of all of them."""
        few = lesser[self._first_to_go(lesser, waiter.group) :]
        for gone in (few, lesser) if len(few) < len(lesser) else (lesser,):
            found = self._seats_without(gone, waiter, now)
            if found:
                needed = self._who_cannot_stay(gone, waiter.group, found)
                name = waiter.group.name
                removals = [Removal(group, group.sitters(), name, at_once=True) for group in needed]
                return Moves(removals=removals, seatings=[SeatAssignment(waiter.group, found)])
        return None

    def _first_to_go(self, lesser: Sequence[SimulatedGroup], group: SimulatedGroup) -> int:
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
            if self.amounts.could_sit(group, self.state.nodes, free):
                room_from = middle
            else:
                none_from = middle
        return room_from

    def _seats_without(self, gone: Sequence[SimulatedGroup], waiter: WaitingTurn, now: Time) -> Seats | None:
        for group in gone:
            self._delete_pods(group, group.sitters())
        found = seats_of(self._decide([waiter], now).binds).get(waiter.turn.key)
        for group in gone:
            self._put_pods(group, group.sitters())
        return found

    def _who_cannot_stay(
        self, gone: Sequence[SimulatedGroup], group: SimulatedGroup, found: Seats
    ) -> list[SimulatedGroup]:
        """Those whose own seats are taken. The better they rank, the sooner they may keep them."""
        free, needed = self.state.free(), []
        for other in gone:
            self._sitting[other].add_to(free)
        self.amounts.footprint(group, found, self.state.nodes).take_from(free)
        for other in gone:
            footprint = self._sitting[other]
            footprint.take_from(free)
            if footprint.overdraws(free):
                footprint.add_to(free)
                needed.append(other)
        return needed
