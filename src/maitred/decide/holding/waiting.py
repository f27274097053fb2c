"""Holds for groups that wait, as one cycle makes them: for whom, where, from when, and by what.

A group that finds no seats in its turn has those places planned that it could have at the earliest. All who
have their turns after it may take what they like as long as they do not delay it. Whoever goes before it by
rank takes what it likes before the hold is reckoned.

Every decision reckons all holds anew, one group after the other. Those of its rank stay as they are
remembered until it is their own turn: so a hold may become earlier, but never at the cost of an equal. It
becomes later only if the place and the time that are remembered will not do any more, and then the cause is
remembered.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial

import msgspec
import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.ends import NEVER, end_of_start, ends_as_said, guessed_ends
from maitred.cluster.journal import Rows, Seated
from maitred.cluster.nodes import Ints, Mask
from maitred.cluster.snapshot import GroupView, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.ask import Ask, Assignment
from maitred.decide.attempt import attempt
from maitred.decide.compile import acceptable
from maitred.decide.context import Context
from maitred.decide.holding.calendar import Calendar, HeldPlaces, Tenure
from maitred.decide.holding.dealing import Dealer, DealtPlace
from maitred.decide.holding.idle import IdleTally
from maitred.decide.holding.planning import PlannedPlace, Planner, TenureFrom
from maitred.decide.holding.reserved import Reservations
from maitred.decide.queues.admission import is_refused
from maitred.decide.seats import Steps
from maitred.model.duration import milliseconds
from maitred.model.holding import (
    MOST_HOLDS,
    MOST_NODES,
    MOST_PLACES,
    NO_HOLDS,
    Basis,
    Cause,
    HoldMemory,
    WaitingHold,
)
from maitred.model.policy import Policy
from maitred.model.runtime import NO_TERMS, RunTerms
from maitred.model.times import at_second

LOOKED_AT = 4
"""Groups of which it is not known when they could begin are passed over; but no more groups are looked at
than so many times those that may have a hold."""


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    view: GroupView
    kept: DealtPlace
    basis: Basis
    made: datetime
    promised: datetime | None
    moved: Cause = ""
    before: WaitingHold | None = None
    """What was remembered of it."""

    @property
    def key(self) -> str:
        return self.view.group.key

    @property
    def place(self) -> PlannedPlace:
        return self.kept.place

    @property
    def rows(self) -> Rows:
        return np.unique(np.array([row for _, row in self.place.seats], dtype=np.intp))


class WaitingHolds:
    """Where the policy has none, nothing of this is looked at."""

    def __init__(self, snapshot: Snapshot, context: Context, now: datetime, leaving: Mask) -> None:
        self.snapshot, self.context, self.now = snapshot, context, now
        self.policy = context.policy.holds
        self.calendar = Calendar(snapshot, context.meter, round(now.timestamp() * 1000), leaving)
        self.reservations = Reservations(snapshot, context, self.calendar.now, lambda: self.calendar.ends)
        self.calendar.openings = self.reservations.openings
        self.planner = Planner(self.calendar, context)
        self.dealer = Dealer(self.planner)
        self.planned: list[PlannedGroup] = []
        """In the order of their turns."""
        self._of_queue = Counter[int]()
        self._standing: dict[str, DealtPlace] = {}
        """Of groups that have their places as before, until it is their turn."""
        self._stood: dict[str, DealtPlace] = {}
        """Where those were last who have had their turn."""
        self._looked_at = 0
        self._due: list[int] = []
        """When groups will have waited for so long that they may have a hold by age."""
        self._resting: list[WaitingHold] = []
        """Holds by age that have used up what may stand idle for them."""

    @cached_property
    def idle(self) -> IdleTally:
        return IdleTally(self.calendar, self.context.policy, self.now)

    @property
    def warnings(self) -> tuple[str, ...]:
        unread = self.snapshot.unread_holds if self.are_on else ""
        return (unread,) if unread else ()

    @property
    def are_on(self) -> bool:
        return self.policy.depth > 0

    # -- who starts now --------------------------------------------------------------------------------

    def seats(self, trial: Trial, view: GroupView, ask: Ask, steps: Steps) -> Assignment | None:
        """As `attempt` finds them, where they delay no hold."""
        trial.wish = self.reservations.wish(view)
        if not self.calendar.moments:
            found = attempt(trial, ask, self.context, steps)
            trial.wish = None
            return found
        tenure = self.from_now(view)
        if trial.wish is None:
            trial.wish = self.calendar.held_first(tenure)
        found = self.dealer.seats(trial, ask, tenure, steps)
        trial.wish = None
        return found

    def in_the_way(self, view: GroupView) -> tuple[HeldPlaces, ...]:
        """Those whom the group could delay if it started now."""
        if not self.calendar.moments:
            return ()
        return tuple(moment.as_it_is for moment in self.calendar.within(self.from_now(view)))

    def closed_to(self, view: GroupView) -> frozenset[int]:
        """Nodes on which nobody may be made to leave for it."""
        return frozenset(row for places in self.in_the_way(view) for row in places.rows.tolist())

    def from_now(self, view: GroupView) -> Tenure:
        return self._tenure(view, self.calendar.now)

    def _tenure(self, view: GroupView, start: int) -> Tenure:
        """How long it has its places if it starts then; who comes late to a group leaves with it."""
        key = view.group.key
        if view.running:
            end = self.end_of_running.get(key, NEVER)
        else:
            begun = self.calendar.now if start == self.calendar.at_once else start
            end = end_of_start(begun, view.runtime, self._terms(view))
        return Tenure(start, end, key, self.reservations.closed_to(view, start, end))

    def _terms(self, view: GroupView) -> RunTerms:
        book = self.snapshot.book
        return NO_TERMS if book is None else book.run_terms(view.account)

    @cached_property
    def end_of_running(self) -> dict[str, int]:
        """By when groups of which some run have ended for certain."""
        bound, seated = self.snapshot.bound, self.snapshot.seated
        last = np.zeros(len(seated), dtype=np.int64)
        grouped = bound.group >= 0
        np.maximum.at(last, bound.group[grouped], self.calendar.ends[grouped])
        found = dict[str, int]()
        for group, end in zip(seated, last.tolist(), strict=True):
            if group is not None:
                found[group.group.key] = max(end, found.get(group.group.key, 0))
        return found

    def entered(self, view: GroupView, entries: Iterable[Seated]) -> None:
        """It has these places now, or they are kept for it from now on."""
        if self.are_on:
            self.calendar.enter(entries, self.from_now(view))

    def left(self, entry: Seated) -> None:
        self.calendar.leave(entry)

    # -- who is planned --------------------------------------------------------------------------------

    def remembered(self, view: GroupView) -> WaitingHold | None:
        known = self._remembered.get(view.group.key) if self.are_on else None
        return known if known is not None and known.source == view.source else None

    @cached_property
    def _remembered(self) -> dict[str, WaitingHold]:
        return {one.group: one for one in self.snapshot.holds.holds}

    def keep_as_before(self, view: GroupView, ask: Ask) -> None:
        """Until it is its turn, its equals may not take what it has."""
        place = self._as_before(self.remembered(view), ask, partial(self._tenure, view), is_due=True)
        if place is not None:
            key, kept = view.group.key, DealtPlace(ask, partial(self._tenure, view), place)
            self._standing[key] = kept
            self.dealer.keep(key, kept)

    def reconsider(self, view: GroupView) -> None:
        """It is its turn."""
        key = view.group.key
        if key in self._standing:
            self._stood[key] = self._standing.pop(key)
            self.dealer.give_up(key)

    def plan(self, trial: Trial, view: GroupView, ask: Ask, decided: bool = True) -> PlannedGroup | None:
        """A hold for a group that has no seats now; None if it has none. `decided`: it was looked whether it
        has seats."""
        if not self._may_have_one(trial, view, ask):
            return None
        self._looked_at += 1
        before, tenure_from = self.idle.freed(self.remembered(view)), partial(self._tenure, view)
        place = None if decided else self._as_before(before, ask, tenure_from)
        if place is None:
            place = self._earliest(ask, tenure_from, before, decided)
        if place is None:
            place = self._by_age(view, ask, before)
        if place is None:
            return None
        found = self._as_kept(view, DealtPlace(ask, tenure_from, place), before)
        self.planned.append(found)
        self._of_queue[self._queue(view)] += 1
        self.dealer.keep(found.key, found.kept)
        return found

    def _earliest(
        self, ask: Ask, tenure_from: TenureFrom, before: WaitingHold | None, decided: bool
    ) -> PlannedPlace | None:
        """Others are dealt other nodes for it only if it would begin sooner than it did."""
        known = NEVER if before is None or before.begins is None else in_ms(before.begins)

        def place_at(moment: int) -> PlannedPlace | None:
            planner = self.dealer if moment < known else self.planner
            return planner.place_at(ask, moment, tenure_from)

        place = self.planner.earliest(ask, tenure_from, not decided, place_at)
        if before is None or known == NEVER or not decided:
            return place
        if place is None or place.tenure.begin > known or self._is_elsewhere(place, before):
            return self._as_before(before, ask, tenure_from) or place
        return place

    def _by_age(self, view: GroupView, ask: Ask, before: WaitingHold | None) -> PlannedPlace | None:
        """Places that are no longer refilled, if the group has waited for so long."""
        patience = milliseconds(self.policy.after)
        if patience is None:
            return None
        rested = before is not None and before.over is not None
        since = before.over.timestamp() if before and before.over else view.created
        due = round(since * 1000) + patience
        if due > self.calendar.now:
            self._due.append(due)
            self._resting += [before] if rested and before is not None else []
            return None
        if before is not None and self.idle.is_spent(before):
            self._due.append(self.calendar.now + patience)
            self._resting.append(self.idle.over(before))
            return None
        nodes = self._nodes_of(before) if before is not None and before.basis == "age" else None
        return self.planner.soonest(ask, view.group.key, self._guessed, nodes)

    @cached_property
    def _guessed(self) -> Ints:
        return guessed_ends(self.snapshot, self.calendar.ends, self.calendar.now)

    def _nodes_of(self, hold: WaitingHold) -> Mask | None:
        """None if it has none."""
        rows = self.snapshot.nodes.rows
        found = np.zeros(len(self.snapshot.nodes.names), dtype=np.bool_)
        found[[rows[node] for node, _ in hold.nodes if node in rows]] = True
        return found if found.any() else None

    def _may_have_one(self, trial: Trial, view: GroupView, ask: Ask) -> bool:
        most = self.policy.per_queue
        if not self.are_on or not ask.need or len(self.planned) + len(self._standing) >= self.policy.depth:
            return False
        if self._looked_at >= LOOKED_AT * self.policy.depth:
            return False
        if most is not None and self._of_queue[self._queue(view)] >= most:
            return False
        return not is_refused(trial, ask, self.context.policy)

    def _queue(self, view: GroupView) -> int:
        book = self.snapshot.book
        return -1 if book is None or view.account == NO_ACCOUNT else book.accounts[view.account].queue

    def _as_before(
        self, before: WaitingHold | None, ask: Ask, tenure_from: TenureFrom, is_due: bool = False
    ) -> PlannedPlace | None:
        """The place and the time that are remembered, if they will do. `is_due`: if that is now, too."""
        if before is None or before.begins is None:
            return None
        stood, begins, now = self._stood.get(before.group), in_ms(before.begins), self.calendar.now
        nodes = self._nodes_of(before) if stood is None else self.dealer.nodes_of(stood)
        if nodes is None or (begins <= now and not is_due):
            return None
        return self.planner.place_at(ask, max(begins, self.calendar.at_once), tenure_from, nodes)

    def _is_elsewhere(self, place: PlannedPlace, before: WaitingHold) -> bool:
        """Whether it is other places at the time that is remembered. Two groups that begin at one time could
        change places for ever."""
        same_time = before.begins is not None and place.tenure.begin == in_ms(before.begins)
        return same_time and self._places(place) != before.nodes

    def _places(self, place: PlannedPlace) -> tuple[tuple[str, int], ...]:
        """How many members are planned on each node, as it is remembered."""
        counts = Counter(self.snapshot.nodes.names[row] for _, row in place.seats)
        return tuple(sorted(counts.items()))

    def _as_kept(self, view: GroupView, kept: DealtPlace, before: WaitingHold | None) -> PlannedGroup:
        place = kept.place
        if place.gone is not None:
            made = self.now if before is None or before.basis != "age" or before.over else before.made
            return PlannedGroup(view, kept, "age", made, None, before=before)
        begins = at_second(place.tenure.begin / 1000)
        if before is None or before.promised is None or before.begins is None:
            return PlannedGroup(view, kept, "limits", self.now, begins)
        if in_ms(before.begins) >= place.tenure.begin:
            return PlannedGroup(view, kept, "limits", before.made, before.promised, before.moved)
        cause = self._why_later(kept.ask, before)
        promised = max(begins, before.promised)
        return PlannedGroup(view, kept, "limits", before.made, promised, cause)

    def _why_later(self, ask: Ask, before: WaitingHold) -> Cause:
        """The place that is remembered will not do at the time that is remembered."""
        if self.snapshot.holds.policy != words_of(self.context.policy):
            return "policy"
        rows, trial = self.snapshot.nodes.rows, self.calendar.at(self.calendar.now)
        nodes = np.array([rows[node] for node, _ in before.nodes if node in rows], dtype=np.intp)
        usable = [acceptable(trial, shape, self.context.policy)[nodes] for shape in ask.distinct]
        if len(nodes) < len(before.nodes) or not np.logical_or.reduce(usable).all():
            return "capacity"
        bound, late = self.snapshot.bound, ends_as_said(self.snapshot, self.calendar.now)
        there = np.isin(bound.node, nodes)
        if (there & (late <= self.calendar.now)).any():
            return "unkept"
        stays = there & (self.calendar.ends > in_ms(before.begins or before.made))
        came = stays & (bound.started >= in_ms(before.made))
        return "rank" if came.any() or self.calendar.is_taken(nodes) else "others"

    def leavers(self, plan: PlannedGroup) -> list[str]:
        """Who will have left its nodes by then."""
        return self.calendar.leaving_by(plan.place.tenure.begin, plan.rows)

    # -- what is remembered ----------------------------------------------------------------------------

    @cached_property
    def known(self) -> HoldMemory:
        """All holds, as they are remembered from now on."""
        kept, places = list[WaitingHold](), 0
        holds = [*map(self._to_remember, self.planned), *self._resting]
        for hold in holds[:MOST_HOLDS]:
            places += len(hold.nodes)
            if places <= MOST_PLACES and len(hold.nodes) <= MOST_NODES:
                kept.append(hold)
        return HoldMemory(words_of(self.context.policy) if kept else "", tuple(kept))

    def _to_remember(self, one: PlannedGroup) -> WaitingHold:
        tenure = one.place.tenure
        hold = WaitingHold(
            group=one.key,
            source=one.view.source,
            basis=one.basis,
            made=one.made,
            promised=None,
            begins=None,
            nodes=self._places(one.place),
        )
        if one.basis == "age":
            return self.idle.told(hold, one.kept.ask, one.place.seats, one.before)
        return msgspec.structs.replace(
            hold,
            promised=one.promised,
            begins=at_second(tenure.begin / 1000),
            ends=None if tenure.end >= NEVER else at_second(tenure.end / 1000),
            moved=one.moved,
        )

    @cached_property
    def memory(self) -> HoldMemory | None:
        """What is to be remembered from now on; None if that is what was."""
        found = self.known if self.are_on else NO_HOLDS
        return None if found == self.snapshot.holds else found

    @property
    def wake_at(self) -> int | None:
        """When somebody is planned to begin, or time alone makes or ends a hold."""
        if not self.are_on:
            return None
        begins = (one.place.tenure.begin for one in self.planned if one.basis == "limits")
        over = map(self.idle.over_at, self.known.holds)
        return min((*begins, *self._due, *(one for one in over if one is not None)), default=None)


def words_of(policy: Policy) -> str:
    """What a policy says about holds: where it says something else, they may move."""
    return msgspec.json.encode(policy.holds).decode()


def in_ms(time: datetime) -> int:
    return round(time.timestamp() * 1000)
