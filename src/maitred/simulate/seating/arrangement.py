"""What a Plan says, in terms of groups and their members."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from maitred.model.plan import Bind, Eviction, Plan
from maitred.simulate.group import SimulatedGroup
from maitred.simulate.seating.objects import group_key
from maitred.simulate.seating.same_requests import WaitingTurn
from maitred.simulate.seating.seater import Removal, SeatAssignment

Seats = list[tuple[int, str]]
"""Members, by number, and their nodes."""


class Arrangement:
    def __init__(self, plan: Plan, groups: Mapping[str, SimulatedGroup]) -> None:
        """`groups` by group; all that the Plan speaks of are among them."""
        self._seats, self._places = seats_of(plan.binds), seats_of(plan.nominations)
        self._removals = removals_of(plan.evictions, groups)

    def seatings(self, asked: Sequence[WaitingTurn]) -> list[SeatAssignment]:
        return [SeatAssignment(w.group, self._seats[w.turn.key]) for w in asked if w.turn.key in self._seats]

    def nominations(self, asked: Sequence[WaitingTurn]) -> list[SeatAssignment]:
        """Of those for whom other places are kept from now on than were before."""
        places = [(w.group, self._places.get(w.turn.key, [])) for w in asked if w.turn.key not in self._seats]
        return [SeatAssignment(group, kept) for group, kept in places if dict(kept) != group.nominated]

    def served(self, asked: Sequence[WaitingTurn]) -> set[str]:
        """Those who get seats, or other places."""
        kept = {group_key(one.group.job) for one in self.nominations(asked)}
        return kept | {waiter.turn.key for waiter in asked if waiter.turn.key in self._seats}

    def removals(self, asked: Sequence[WaitingTurn]) -> list[Removal]:
        """Of those who leave for them."""
        return [removal for w in asked for removal in self._removals.get(w.turn.key, ())]


def seats_of(binds: Iterable[Bind]) -> dict[str, Seats]:
    """Group -> its members, by number, and their nodes."""
    seats: dict[str, Seats] = {}
    for bind in binds:
        seats.setdefault(bind.group, []).append((member_of(bind.pod, bind.group), bind.node))
    return seats


def removals_of(
    evictions: Iterable[Eviction], groups: Mapping[str, SimulatedGroup]
) -> dict[str, list[Removal]]:
    """Group -> who leaves for it, group by group."""
    found: dict[str, list[Removal]] = {}
    for (preemptor, group), told in groupby(sorted(evictions, key=keys_of), keys_of):
        theirs = list(told)
        removal = Removal(
            group=groups[group],
            members=[member_of(eviction.pod, group) for eviction in theirs],
            preemptor=groups[preemptor].name,
            receipts=[eviction.receipt for eviction in theirs],
        )
        found.setdefault(preemptor, []).append(removal)
    return found


def keys_of(eviction: Eviction) -> tuple[str, str]:
    """Who takes the place of whom."""
    return eviction.preemptor, eviction.group or eviction.pod


def member_of(pod: str, group: str) -> int:
    return 0 if pod == group else int(pod.rpartition("-")[2])
