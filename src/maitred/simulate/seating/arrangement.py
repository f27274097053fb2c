"""What a Plan says, in terms of parties and their members."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from maitred.model.plan import Bind, Eviction, Plan
from maitred.simulate.party import Party
from maitred.simulate.seating.kin import Waiter
from maitred.simulate.seating.seater import Removal, Seating

Seats = list[tuple[int, str]]
"""Members, by number, and their nodes."""


class Arrangement:
    def __init__(self, plan: Plan, parties: Mapping[str, Party]) -> None:
        """`parties` by group; all that the Plan speaks of are among them."""
        self._seats, self._places = seats_of(plan.binds), seats_of(plan.nominations)
        self._removals = removals_of(plan.evictions, parties)

    def seatings(self, asked: Sequence[Waiter]) -> list[Seating]:
        return [Seating(w.party, self._seats[w.turn.key]) for w in asked if w.turn.key in self._seats]

    def nominations(self, asked: Sequence[Waiter]) -> list[Seating]:
        """Of those for whom other places are kept from now on than were before."""
        places = [(w.party, self._places.get(w.turn.key, [])) for w in asked if w.turn.key not in self._seats]
        return [Seating(party, kept) for party, kept in places if dict(kept) != party.nominated]

    def removals(self, asked: Sequence[Waiter]) -> list[Removal]:
        """Of those who leave for them."""
        return [removal for w in asked for removal in self._removals.get(w.turn.key, ())]


def seats_of(binds: Iterable[Bind]) -> dict[str, Seats]:
    """Group -> its members, by number, and their nodes."""
    seats: dict[str, Seats] = {}
    for bind in binds:
        seats.setdefault(bind.group, []).append((member_of(bind.pod, bind.group), bind.node))
    return seats


def removals_of(evictions: Iterable[Eviction], parties: Mapping[str, Party]) -> dict[str, list[Removal]]:
    """Group -> who leaves for it, party by party."""
    found: dict[str, list[Removal]] = {}
    for (preemptor, group), told in groupby(sorted(evictions, key=parties_of), parties_of):
        theirs = list(told)
        removal = Removal(
            party=parties[group],
            members=[member_of(eviction.pod, group) for eviction in theirs],
            preemptor=parties[preemptor].name,
            receipts=[eviction.receipt for eviction in theirs],
        )
        found.setdefault(preemptor, []).append(removal)
    return found


def parties_of(eviction: Eviction) -> tuple[str, str]:
    """Who takes the place of whom."""
    return eviction.preemptor, eviction.group or eviction.pod


def member_of(pod: str, group: str) -> int:
    return 0 if pod == group else int(pod.rpartition("-")[2])
