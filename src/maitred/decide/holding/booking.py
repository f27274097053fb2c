"""Booking a start: once all have had their turns, whoever asks for a promise is given one, or told why not.

A promise is made only if it can be kept: by ends that somebody enforces, on nodes that no other scheduler
uses, beside all that was given away or promised before, and within the limits of the queue. Nobody leaves for
it. Tenants ask, so the policy says how many starts may be booked at once.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from maitred.cluster.ends import NEVER
from maitred.decide.deadlines import said
from maitred.decide.holding.booked import MARGIN, Bookable, Bookings, in_ms, most_of, newest_of, queue_of
from maitred.decide.holding.planning import PlannedPlace
from maitred.decide.queues.admission import is_refused
from maitred.model.booking import MOST_BOOKINGS, MOST_NODES, MOST_PLACES, Booking
from maitred.model.times import at_second

SECOND = 1000
LOOKED_AT = 4
"""No more groups of a queue are looked at in one decision than so many times those that may be booked."""


@dataclass(frozen=True, slots=True)
class NotBooked:
    """Why a group that wants to start by a time has no promise."""

    words: str
    earliest: int | None = None
    """The first time that could be promised, if that is known."""


class Booker:
    def __init__(self, bookings: Bookings) -> None:
        self.bookings = bookings
        self.made: dict[str, Booking] = {}
        """By group."""
        self.refused: dict[str, NotBooked] = {}
        standing = [one.booking for one in bookings.kept.values() if not one.is_over]
        self._of_queue = Counter(one.queue for one in standing)
        self._looked_at = Counter[str]()
        self._places = sum(len(one.nodes) for one in standing)

    def book(self, groups: Iterable[Bookable]) -> None:
        """In the order of their turns."""
        for group in groups:
            wanted, key = group.view.runtime.stay.timing.start_by, group.view.group.key
            standing = self.bookings.kept.get(key)
            if wanted is None or (standing is not None and not standing.is_over):
                continue
            found = self._book(group, wanted)
            if isinstance(found, Booking):
                self.made[key] = found
            else:
                self.refused[key] = found

    @property
    def wake_at(self) -> int | None:
        """When somebody who was promised a start may begin, must have begun, or is too late."""
        standing = [one.booking for one in self.bookings.kept.values() if not one.is_over]
        promised = [in_ms(one.at) for one in (*standing, *self.made.values())]
        times = (at + offset for at in promised for offset in (-MARGIN, 0, MARGIN + 1))
        return min((at for at in times if at > self.bookings.calendar.now), default=None)

    def _book(self, group: Bookable, wanted: int) -> Booking | NotBooked:
        queue = queue_of(group.view, self.bookings.snapshot)
        why_not = self._why_not(group, queue, wanted)
        if why_not:
            return NotBooked(why_not)
        self._looked_at[queue] += 1
        place = self._earliest(group)
        if place is None:
            return NotBooked(self._why_never(group))
        at = place.tenure.begin + MARGIN
        if at > wanted:
            return NotBooked(f"the first start that can be promised is {said(at)}", at)
        nodes = self.bookings.nodes_in(place)
        if len(nodes) > MOST_NODES or self._places + len(nodes) > MOST_PLACES:
            return NotBooked("it would be on too many nodes")
        self._places += len(nodes)
        self._of_queue[queue] += 1
        self.bookings.planner.keep(group.ask, place)
        end = place.tenure.end
        return Booking(
            group=group.view.group.key,
            source=group.view.source,
            queue=queue,
            made=self.bookings.now,
            newest=at_second(newest_of(group.view)),
            start_by=at_second(wanted / 1000),
            at=at_second(at / 1000),
            ends=None if end >= NEVER else at_second(end / 1000),
            nodes=nodes,
        )

    def _why_not(self, group: Bookable, queue: str, wanted: int) -> str:
        policy, now = self.bookings.context.policy, self.bookings.calendar.now
        most = most_of(policy, queue)
        whose = f"queue {queue}" if queue else "groups that are in no queue"
        if not most:
            return f"the policy allows no booked starts for {whose}"
        if wanted <= now:
            return "that time has passed"
        if self._of_queue[queue] >= most or sum(self._of_queue.values()) >= MOST_BOOKINGS:
            return f"there are as many booked starts for {whose} as the policy allows: {most}"
        if self._looked_at[queue] >= LOOKED_AT * most:
            return "others of its queue were looked at first, and none of them can be booked either"
        return ""

    def _why_never(self, group: Bookable) -> str:
        """Not even once all have ended of whom that is known."""
        calendar = self.bookings.calendar
        last = max(calendar.changes().tolist(), default=calendar.now)
        if is_refused(calendar.at(last), group.ask, self.bookings.context.policy):
            return "the limits of its queue do not allow it"
        return (
            "it is not known when there will be places for it: only ends count that somebody enforces, and "
            "nodes that no other scheduler uses"
        )

    def _earliest(self, group: Bookable) -> PlannedPlace | None:
        """From a whole second on: what is promised is written down so."""
        planner, tenure_from = self.bookings.planner, self.bookings.tenure_from(group.view)
        ask = self.bookings.elsewhere(group.view, group.ask)

        def place_at(moment: int) -> PlannedPlace | None:
            return planner.place_at(ask, moment, tenure_from)

        found = planner.earliest(ask, tenure_from, False, place_at)
        if found is None or found.tenure.begin % SECOND == 0:
            return found
        return place_at(-(-found.tenure.begin // SECOND) * SECOND)
