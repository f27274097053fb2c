"""One future: the cluster rolled forward from end to end on a trial, groups seated by the engine itself."""

import heapq
from bisect import insort
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import replace
from itertools import count

import numpy as np

from maitred.cluster.journal import Seated
from maitred.decide.agenda import Agenda, Turn
from maitred.decide.ask import Assignment
from maitred.explain.forecast.guests import Guest, rest_of
from maitred.explain.forecast.hall import Hall, Stay
from maitred.explain.forecast.opening import Opening
from maitred.explain.forecast.runs import NEVER, drawn
from maitred.explain.remedies.effort import Effort

COALESCED, COALESCED_FROM = 1 / 200, 1_000
"""Ends that are apart by no more than this part of the time until then are taken to be one, at the last of
them; but not on clusters of fewer nodes, where it is quick to look at each."""

LOOKS_PER_COMER = 2
"""Who comes takes effort too, whether or not there is room."""


def coalesced(nodes: int) -> float:
    return COALESCED if nodes >= COALESCED_FROM else 0.0


class Future:
    """`draw` says which of the possible run times come true; `comers` are others who come meanwhile. Who has
    a turn after `last` is left out."""

    def __init__(
        self,
        opening: Opening,
        effort: Effort,
        draw: int,
        comers: Iterator[tuple[float, Guest]],
        last: Turn | None = None,
    ) -> None:
        self.opening, self.effort, self.draw, self.last = opening, effort, draw, last
        self.now = opening.now
        self.starts: dict[str, float] = {}
        """When those start who do, of those who wait now and of those who come."""
        self.stays: list[Stay] = []
        """All who sit down, whether or not they stay."""
        self.hall = Hall(opening, effort)
        self._coalesced = coalesced(len(opening.snapshot.nodes.names))
        self._comers, self._next_comer = comers, next(comers, None)
        self._queues: dict[Hashable, list[Guest]] = {}
        """By kin: who waits, in the order of their turns."""
        self._hopeless: set[Hashable] = set()
        """Kins that find no room as long as nobody leaves."""
        self._ending: list[tuple[float, int, Stay]] = []
        self._numbers = count()
        self.tenant_ends = opening.tenants.ends_in(draw)
        self._order = np.argsort(self.tenant_ends, kind="stable")
        self._ends = self.tenant_ends[self._order]
        self._ended = 0
        self._ripe = 0
        self._begin()

    def _begin(self) -> None:
        """What the Plan does now; whoever it leaves out has no room before somebody ends."""
        opening = self.opening
        self.hall.clear(opening.leaving)
        for tenant in opening.displaced:
            self._join(opening.guest_of(tenant, self.now))
        for seating in opening.seatings:
            self._sit(seating.guest, seating.seats, seating.starts)
        for guest in opening.waiting:
            self._join(guest)
        self._hopeless.update(self._queues)

    def _join(self, guest: Guest) -> None:
        if self.last is not None and guest.turn > self.last:
            return
        insort(self._queues.setdefault(guest.kin, []), guest, key=lambda one: one.turn)

    def keep(self, guest: Guest, places: list[Seated], by: float) -> None:
        """Places for one who waits, kept against all others until it sits: those who hold them leave by then.
        It is no longer like others of its kin."""
        self._queues[guest.kin].remove(guest)
        if not self._queues[guest.kin]:
            del self._queues[guest.kin]
        self._join(replace(guest, kin=("kept", guest.key)))
        self.hall.keep(guest.key, places, np.flatnonzero(self.tenant_ends <= by))

    # -- moments ---------------------------------------------------------------------------------------

    def run(self, wanted: Iterable[str]) -> None:
        """Until all of these have started, nobody knows what is next, or the effort is spent."""
        left = {key for key in wanted if key not in self.starts}
        while left and not self.effort.spent:
            if not self._advance():
                self.now = NEVER
                break
            left = {key for key in left if key not in self.starts}

    def _advance(self) -> bool:
        """To the next moment at which somebody ends, comes, or may be displaced; False if there is none."""
        ends, comes = self._next_end(), self._next_comer[0] if self._next_comer else NEVER
        if min(ends, comes) == NEVER:
            return False
        if comes < ends:
            self._welcome()
            return True
        until = ends + (ends - self.opening.now) * self._coalesced
        while self._next_end() <= until:
            self.now = self._next_end()
            self._end_those_due()
        self._hopeless.clear()
        self._serve(self._queues)
        return True

    def _next_end(self) -> float:
        tenant = float(self._ends[self._ended]) if self._ended < len(self._ends) else NEVER
        ripening = self.opening.ripening
        ripe = float(ripening[self._ripe]) if self._ripe < len(ripening) else NEVER
        return min(tenant, ripe, self._ending[0][0] if self._ending else NEVER)

    def _end_those_due(self) -> None:
        due = int(np.searchsorted(self._ends, self.now, side="right"))
        tenants, self._ended = self._order[self._ended : due], due
        self._ripe = int(np.searchsorted(self.opening.ripening, self.now, side="right"))
        self.hall.clear(tenants)
        while self._ending and self._ending[0][0] <= self.now:
            stay = heapq.heappop(self._ending)[2]
            if self.hall.stays.get(stay.guest.key) is stay:
                self.hall.leave(stay)
                self._queues.pop(rest_of(stay.guest.key), None)

    def _welcome(self) -> None:
        """One who comes later. Nothing has become free, so that nobody else need be asked."""
        assert self._next_comer is not None
        self.effort.spend(LOOKS_PER_COMER)
        self.now, guest = self._next_comer
        self._next_comer = next(self._comers, None)
        self._join(guest)
        self._serve([guest.kin] if guest.kin in self._queues else [])

    # -- seats -----------------------------------------------------------------------------------------

    def _serve(self, kins: Iterable[Hashable]) -> None:
        """Everyone in turn, but for those of whose kin somebody has found no room."""
        agenda, asking = Agenda(), dict[int, Hashable]()

        def ask(kin: Hashable, turn: Turn) -> None:
            """Turns are numbered: two groups may have one name, and so one turn."""
            number = next(self._numbers)
            asking[number] = kin
            agenda.add(turn._replace(number=number))

        for kin in kins:
            if kin not in self._hopeless:
                ask(kin, self._queues[kin][0].turn)
        while (turn := agenda.next(self.hall.trial)) is not None:
            kin = asking[turn.number]
            queue = self._queues[kin]
            rest = self._seat(queue[0])
            if rest is None:
                self._hopeless.add(kin)
                continue
            del queue[0]
            if queue:
                ask(kin, queue[0].turn)
            else:
                del self._queues[kin]
            if rest.ask.shapes:
                self._join(rest)
                if rest.kin != kin:
                    ask(rest.kin, rest.turn.surplus)

    def _seat(self, guest: Guest) -> Guest | None:
        """Those of it who are left without seats; None if none of it can have any."""
        seats, displaced = self.hall.seats_for(guest), list[Guest]()
        if not seats:
            seats, displaced = self.hall.make_way(guest, self.now)
        for other in displaced:
            self._queues.pop(rest_of(other.key), None)
            self._join(other)
        return self._sit(guest, seats, self.now) if seats else None

    def _sit(self, guest: Guest, seats: Assignment, at: float) -> Guest:
        self.starts.setdefault(guest.key, at)
        self.hall.sit(self._stay_of(guest, at), guest, seats)
        return guest.rest(seats)

    def _stay_of(self, guest: Guest, at: float) -> Stay:
        """Whoever comes late to a group leaves with it."""
        stay = self.hall.stays.get(guest.key)
        if stay is None:
            tenant = None if guest.ask.need else self.opening.tenants.keys.get(guest.key)
            lasts = drawn(guest.runs, guest.key, self.draw)
            stay = Stay(guest, at, at + lasts if tenant is None else float(self.tenant_ends[tenant]))
            self.stays.append(stay)
            if stay.ends < NEVER:
                heapq.heappush(self._ending, (stay.ends, next(self._numbers), stay))
        return stay
