"""Booked starts, as one cycle keeps them: places that are kept from a time on, against every priority.

All that were promised are in the calendar before anybody has a turn, so nobody who starts may delay them. In
its own turn a group may start sooner. New ones are made when all have had their turns (`booking.py`), beside
all that was given away or promised until then.

What is counted on are ends that somebody enforces. A pod takes its grace period to leave, so a start is
promised for MARGIN after the time from which on its places are kept.

A promise that cannot be kept any more is broken, and why is remembered. A group that is gone, that has got
other members, or that may not start anyway has none any more: that is nobody's fault, and not counted.
"""

from collections import Counter
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property, partial
from typing import NamedTuple

import msgspec
import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.leaving import LATE
from maitred.cluster.nodes import Mask
from maitred.cluster.snapshot import NO_GROUP, GroupView, Snapshot
from maitred.decide.ask import Ask
from maitred.decide.budget import namespace_of
from maitred.decide.context import Context
from maitred.decide.holding.breaking import BreakFinder, digest_of
from maitred.decide.holding.calendar import Calendar, Tenure
from maitred.decide.holding.dealing import Dealer, DealtPlace
from maitred.decide.holding.foreign import foreign_nodes
from maitred.decide.holding.planning import PlannedPlace, Planner, TenureFrom
from maitred.model.booking import (
    MOST_ENDED,
    Booking,
    BookingMemory,
    BreakCause,
    EndedBooking,
    tallied,
)
from maitred.model.policy import Policy

MARGIN = LATE
"""In milliseconds: what a pod may take to leave after its end."""


class Bookable(NamedTuple):
    """A group that waits, as the cycle finds it."""

    view: GroupView
    ask: Ask
    may_start: bool = True


Standing = tuple[GroupView, Ask, Booking]
"""A group that waits, with what it was promised."""


@dataclass(frozen=True, slots=True)
class BookedGroup:
    view: GroupView
    ask: Ask
    booking: Booking
    kept: DealtPlace
    """At its time, and where that may be dealt by now."""
    is_over: bool = False
    """Too late by now: its places are kept in this cycle, and it is not remembered."""


class Bookings:
    """Where the policy allows none and none is remembered, nothing of this is looked at."""

    def __init__(
        self,
        snapshot: Snapshot,
        context: Context,
        now: datetime,
        dealer: Dealer,
        tenure: Callable[[GroupView, int], Tenure],
    ) -> None:
        """`tenure`: how long a group has its places that starts at some moment."""
        self.snapshot, self.context, self.now = snapshot, context, now
        self.dealer, self._tenure = dealer, tenure
        self.kept: dict[str, BookedGroup] = {}
        """By group."""
        self.ended: list[EndedBooking] = []
        self._aside: list[BookedGroup] = []
        """Those that a group is looked for seats without, which somebody has lifted,"""
        self._lifted: GroupView | None = None
        """and that group."""

    @property
    def planner(self) -> Planner:
        return self.dealer.planner

    @property
    def calendar(self) -> Calendar:
        return self.planner.calendar

    @property
    def are_on(self) -> bool:
        return bool(self.snapshot.bookings.bookings) or allows_any(self.context.policy)

    def remembered(self, view: GroupView) -> bool:
        return (view.group.key, view.source) in self._remembered

    @cached_property
    def _remembered(self) -> Container[tuple[str, tuple[str, str, str]]]:
        return {(one.group, one.source) for one in self.snapshot.bookings.bookings}

    # -- before anybody has a turn ---------------------------------------------------------------------

    def begin(self, groups: Iterable[Bookable]) -> None:
        """Those that were promised have their places first."""
        if not self.snapshot.bookings.bookings:
            return
        waiting, standing = {(one.view.group.key, one.view.source): one for one in groups}, list[Standing]()
        for booking in sorted(self.snapshot.bookings.bookings, key=lambda one: (one.at, one.made, one.group)):
            found = waiting.get((booking.group, booking.source))
            if found is None:
                self._settle_if_started(booking)
            elif found.view.running or not found.ask.need:
                self._started(booking)
            elif self._still_counts(booking, found):
                standing.append((found.view, found.ask, booking))
        for view, ask, booking in self._keep(standing):
            closed = self._tenure(view, in_ms(booking.at)).closed
            self._break(booking, *self._breaking.why(booking, view, ask, closed))

    def _settle_if_started(self, booking: Booking) -> None:
        at = self._start_of(booking.group)
        if at is not None and at >= in_ms(booking.made) - MARGIN:
            self._started(booking)

    def _started(self, booking: Booking) -> None:
        """The clock of its kubelet starts a little after it has its places."""
        at = self._start_of(booking.group)
        if at is None or at <= in_ms(booking.at) + MARGIN:
            self.ended.append(self._as_ended(booking, kept=True))
        else:
            self._break(booking, *self._breaking.late())

    def _start_of(self, group: str) -> int | None:
        """When the first member of a group on nodes has started: now, if nobody says so yet. None if it has
        none there."""
        snapshot, bound = self.snapshot, self.snapshot.bound
        numbers = [n for n, one in enumerate(snapshot.seated) if one is not None and one.group.key == group]
        pods = np.flatnonzero(np.isin(bound.group, numbers))
        if not numbers:
            home = [payer.namespace == namespace_of(group) for payer in snapshot.payers]
            alone = np.flatnonzero((bound.group == NO_GROUP) & np.array([*home, False])[bound.payer])
            pods = alone[[one.key == group for one in bound.occupants[alone].tolist()]]
        started = np.where(bound.started[pods] < 0, self.calendar.now, bound.started[pods])
        return int(started.min()) if len(started) else None

    def _still_counts(self, booking: Booking, group: Bookable) -> bool:
        wanted = group.view.runtime.stay.timing.start_by
        same = newest_of(group.view) <= booking.newest.timestamp()
        asked = wanted is not None and wanted >= in_ms(booking.at)
        return asked and same and group.may_start and not group.ask.scavenges

    def _keep(self, standing: Iterable[Standing]) -> list[Standing]:
        """Those that stay where they are, and then those that go to other nodes, so that none of them takes
        the place of another. Those are left for which there is no place."""
        moved = [one for one in standing if not self._keep_there(*one)]
        return [one for one in moved if not self._keep_there(*one, elsewhere=True)]

    def _keep_there(self, view: GroupView, ask: Ask, booking: Booking, elsewhere: bool = False) -> bool:
        place = self._place_again(view, ask, booking, elsewhere)
        if place is None:
            return False
        is_over = self.calendar.now > in_ms(booking.at) + MARGIN
        known = self.kept.get(view.group.key)
        if is_over and known is None:
            self._break(booking, *self._breaking.late())
        kept = DealtPlace(self.elsewhere(view, ask), self.tenure_from(view), place)
        self.dealer.keep(view.group.key, kept)
        self.kept[view.group.key] = BookedGroup(view, ask, booking, kept, is_over)
        return True

    def _place_again(
        self, view: GroupView, ask: Ask, booking: Booking, elsewhere: bool
    ) -> PlannedPlace | None:
        """On its nodes, or on others; at the same time."""
        at, now = in_ms(booking.at), self.calendar.now
        is_due = now >= at - MARGIN
        moment = max(at, now + 1) if is_due else at - MARGIN
        tenure_from = partial(self._tenure, view) if is_due else self.tenure_from(view)
        ask, among = (self.elsewhere(view, ask), None) if elsewhere else (ask, self._nodes_of(booking))
        place = self.planner.place_at(ask, moment, tenure_from, among)
        if place is None or not is_due:
            return place
        # Pods whose end has just passed take a moment to leave. Nobody else starts there meanwhile.
        tenure = replace(place.tenure, begin=now + 1)
        return PlannedPlace(tenure, place.seats, self.calendar.gone_by(moment), is_known=True)

    def tenure_from(self, view: GroupView) -> TenureFrom:
        """From when on its places are kept; it may start MARGIN later, and ends later by as much."""

        def found(moment: int) -> Tenure:
            return replace(self._tenure(view, moment + MARGIN), begin=moment)

        return found

    def elsewhere(self, view: GroupView, ask: Ask) -> Ask:
        """Only nodes that no other scheduler uses."""
        foreign = foreign_nodes(self.snapshot, view.pending_schedulers)
        return replace(ask, closed=ask.closed | foreign) if foreign else ask

    def _nodes_of(self, booking: Booking) -> Mask:
        rows = self.snapshot.nodes.rows
        found = np.zeros(len(self.snapshot.nodes.names), dtype=np.bool_)
        found[[rows[node] for node, _ in booking.nodes if node in rows]] = True
        return found

    # -- in the turns of groups ------------------------------------------------------------------------

    def reconsider(self, view: GroupView) -> None:
        """It is its turn: it may have its places now."""
        if view.group.key in self.kept:
            self._give_up(view.group.key)

    def _give_up(self, group: str) -> None:
        if self.calendar.is_planned(group):
            self.dealer.give_up(group)

    def resume(self, view: GroupView, ask: Ask) -> bool:
        """It has no seats yet: it has its places later, as before. Whether it has any."""
        found = self.kept.get(view.group.key)
        if found is not None and found.view.source == view.source and ask.need:
            self._give_up(view.group.key)
            self.dealer.keep(view.group.key, found.kept)
            return True
        return False

    def closed_to(self, tenure: Tenure) -> frozenset[int]:
        """Nodes that are kept for others meanwhile."""
        kept = (one.kept.place for one in self._planned if one.view.group.key != tenure.group)
        met = (place for place in kept if tenure.begin < place.tenure.end and place.tenure.begin < tenure.end)
        return frozenset(row for place in met for _, row in place.seats)

    @property
    def _planned(self) -> list[BookedGroup]:
        """Those that have their places later, and not now."""
        return [one for key, one in self.kept.items() if self.calendar.is_planned(key)]

    # -- who is lifted by name -------------------------------------------------------------------------

    def step_aside(self, view: GroupView) -> bool:
        """Whether there are any that a lifted group may be looked for seats without."""
        if view.override is None or self._aside:
            return False
        self._aside, self._lifted = self._planned, view
        for one in self._aside:
            self._give_up(one.view.group.key)
        return bool(self._aside)

    def come_back(self) -> None:
        """The lifted group has got its places, or none: those that it left no room for are broken."""
        aside, self._aside = {one.booking: one for one in self._aside}, []
        for _, _, booking in self._keep([(one.view, one.ask, one.booking) for one in aside.values()]):
            del self.kept[booking.group]
            override = None if self._lifted is None else self._lifted.override
            if override is not None and not aside[booking].is_over:
                words = f"{override.by} lifted {override.group}: {override.reason}"
                self._break(booking, "override", words)

    # -- what is remembered ----------------------------------------------------------------------------

    @cached_property
    def _breaking(self) -> BreakFinder:
        return BreakFinder(self.snapshot, self.context, self.calendar)

    def _break(self, booking: Booking, cause: BreakCause, who: str) -> None:
        self.ended.append(self._as_ended(booking, kept=False, cause=cause, who=who))

    def _as_ended(self, one: Booking, kept: bool, cause: BreakCause = "", who: str = "") -> EndedBooking:
        return EndedBooking(one.group, one.queue, one.made, one.at, self.now, kept, cause, who)

    def last_broken(self, view: GroupView) -> EndedBooking | None:
        """Of a group as old as this one: the last promise that was not kept."""
        over = (*self.snapshot.bookings.ended, *self.ended)
        known = (one for one in reversed(over) if one.group == view.group.key)
        found = next(known, None)
        if found is None or found.kept or found.made.timestamp() < view.created:
            return None
        return found

    @property
    def warnings(self) -> tuple[str, ...]:
        return (self.snapshot.unread_bookings,) if self.snapshot.unread_bookings else ()

    def memory(self, made: Iterable[Booking]) -> BookingMemory | None:
        """What is to be remembered from now on; None if that is what was."""
        before = self.snapshot.bookings
        standing = {
            one.booking.group: self._to_remember(one) for one in self.kept.values() if not one.is_over
        }
        kept = [standing[one.group] for one in before.bookings if one.group in standing]
        bookings, ended = (*kept, *made), tuple(self.ended)
        found = BookingMemory(
            digest_of(self.context.policy) if bookings else "",
            bookings,
            (*before.ended, *ended)[-MOST_ENDED:],
            tallied(before, ended),
        )
        return None if found == before else found

    def _to_remember(self, one: BookedGroup) -> Booking:
        return msgspec.structs.replace(one.booking, nodes=self.nodes_in(one.kept.place))

    def nodes_in(self, place: PlannedPlace) -> tuple[tuple[str, int], ...]:
        names = self.snapshot.nodes.names
        return tuple(sorted(Counter(names[row] for _, row in place.seats).items()))


def queue_of(view: GroupView, snapshot: Snapshot) -> str:
    """Empty for a group that is in none."""
    book = snapshot.book
    if book is None or view.account == NO_ACCOUNT:
        return ""
    name: str = book.tree.queues[book.accounts[view.account].queue].name
    return name


def allows_any(policy: Policy) -> bool:
    return policy.bookings > 0 or any(queue.bookings for queue in policy.queues)


def most_of(policy: Policy, queue: str) -> int:
    """How many starts may be booked at once in a queue, or for groups that are in none."""
    if not queue:
        return policy.bookings
    return next((one.bookings for one in policy.queues if one.name == queue), 0)


def newest_of(view: GroupView) -> float:
    """When the last of its members was created, in seconds since 1970."""
    return max((created for _, created, _ in view.orders), default=0.0)


def in_ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)
