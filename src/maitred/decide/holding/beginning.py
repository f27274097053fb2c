"""Reservations with `onStart: evict`: who is told that it will have to leave, and who leaves when one begins.

Only units leave, as everywhere: pods that break together. A unit leaves if all of it started after the
reservation was made, and if it was warned at least the lead time before. It is warned as soon as it is seen
on a node of the reservation, of each of its times anew. So nobody leaves who could not know. Who is marked as
non-preemptible or is protected still, and pods that nobody would create again, stay: for them the
reservation waits.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import msgspec
import numpy as np

from maitred.cluster.journal import Rows
from maitred.cluster.snapshot import Occupant, Snapshot
from maitred.cluster.trial import Trial
from maitred.decide.holding.reserved import KeptReservation, Reservations
from maitred.decide.maintenance.timing import shield_words
from maitred.decide.preemption.evictable import (
    NOT_KNOWN,
    OwnerOfPods,
    device_hours,
    owner_of,
)
from maitred.decide.preemption.promises import Promises
from maitred.decide.preemption.receipts import Departures
from maitred.decide.preemption.units import Units
from maitred.model.plan import Eviction, Receipt
from maitred.model.reservations import EVICT, RESERVATION, ReservedNodes, WarnedUnit
from maitred.model.reserving import (
    LEAST_NOTICE,
    MOST_WARNED,
    ReservationMemory,
    ReservationNotice,
    StandingReservation,
)
from maitred.model.times import at_second
from maitred.model.words import moment

SECOND = 1000


@dataclass(frozen=True, slots=True)
class Intruder:
    """A unit of others on nodes of a reservation that may make it leave."""

    kept: KeptReservation
    name: str
    pods: Rows
    started: int
    """When the first of its pods got its node,"""
    warned: int
    """and when it was warned."""
    stays: str
    """Why it does not leave; empty if it may."""

    @property
    def due(self) -> int:
        """When it leaves at the earliest."""
        notice = max(self.kept.lead, round(LEAST_NOTICE.total_seconds() * SECOND))
        return max(self.kept.span[0], self.warned + notice)


@dataclass
class Beginnings:
    """Of one cycle. Where no reservation evicts, nothing is looked at."""

    snapshot: Snapshot
    reservations: Reservations
    promises: Promises
    scheduler: str | None
    told: list[Intruder] = field(default_factory=list)
    """Those who leave now."""

    @property
    def now(self) -> int:
        return self.reservations.now

    @cached_property
    def _evicting(self) -> list[KeptReservation]:
        return [one for one in self.reservations.kept if one.said.on_start == EVICT]

    @cached_property
    def intruders(self) -> list[Intruder]:
        """Those that have been warned, or are now; by reservation, then by name."""
        found = [one for kept in self._evicting for one in self._on(kept)]
        return found[:MOST_WARNED]

    def _since(self, kept: KeptReservation) -> int:
        """When it was made; one of the policy, when it was first seen as it is."""
        memory = self.snapshot.reservations
        made = memory.of(kept.said.name) if kept.by else None
        if made is not None:
            return round(made.made.timestamp() * SECOND)
        standing = (one.since for one in memory.standing if one.said == kept.said)
        since = next(standing, None)
        return self.now if since is None else round(since.timestamp() * SECOND)

    def _on(self, kept: KeptReservation) -> Iterator[Intruder]:
        bound, evictable = self.snapshot.bound, self.promises.evictable
        others = ~self.reservations.theirs(kept.said.beneficiary) & ~bound.fixed & ~bound.terminating
        inside = np.flatnonzero(np.isin(bound.node, kept.rows) & others)
        family, since = evictable.family, self._since(kept)
        families = np.unique(family[inside])
        among = np.flatnonzero(np.isin(family, families) & ~bound.terminating & ~bound.fixed)
        order = among[np.argsort(family[among], kind="stable")]
        parts = np.split(order, np.flatnonzero(np.diff(family[order])) + 1) if len(order) else []
        found = [
            (self._name(int(pods[0])), pods) for pods in parts if int(bound.bound_at[pods].min()) >= since
        ]
        for name, pods in sorted(found, key=lambda one: one[0]):
            started = int(bound.bound_at[pods].min())
            warned = self._warned.get((kept.said.name, name, kept.span[0]), -1)
            # What was said to an earlier one of its name was not said to it.
            known = warned if warned >= started // SECOND * SECOND else self.now
            yield Intruder(kept, name, pods, started, known, self._stays(pods))

    def _name(self, pod: int) -> str:
        evictable = self.promises.evictable
        occupant: Occupant = self.snapshot.bound.occupants[pod]
        return evictable.names.get(int(evictable.family[pod]), "") or occupant.key

    @cached_property
    def _warned(self) -> dict[tuple[str, str, int], int]:
        return {
            (one.reservation, one.unit, round(one.begin.timestamp() * SECOND)): round(
                one.at.timestamp() * SECOND
            )
            for one in self.snapshot.reservations.warned
        }

    def _stays(self, pods: Rows) -> str:
        bound, standings = self.snapshot.bound, self.snapshot.standings
        if any(not one.owner[0] for one in bound.occupants[pods].tolist()):
            return "no controller would recreate it"
        whose = {standings[number].scheduler for number in np.unique(bound.standing[pods]).tolist()}
        own = self.promises.context.policy.preemption.victims == "own"
        if own and self.scheduler is not None and whose != {self.scheduler}:
            return "it belongs to another scheduler"
        return shield_words(self.promises.evictable, pods)

    # -- who leaves ------------------------------------------------------------------------------------

    def tell(self, trial: Trial) -> None:
        """Those whose time has come leave from now on."""
        leaving = self.promises.leaving.copy()
        for one in self.intruders if self._evicting else ():
            begun = not one.kept.given_back and one.due <= self.now
            if begun and not one.stays and not leaving[one.pods].any():
                self.told.append(one)
                leaving[one.pods] = True
        if self.told:
            self.promises.expect(trial, np.concatenate([one.pods for one in self.told]))

    def evictions(self) -> list[Eviction]:
        if not self.told:
            return []
        evictable, candidates = self.promises.evictable, np.zeros(len(self.snapshot.bound.node), np.bool_)
        for one in self.told:
            candidates[one.pods] = True
        units = Units(evictable, ~evictable.leaving, candidates)
        failing, found = evictable.by_owner(self.promises.leaving), list[Eviction]()
        for kept in self._evicting:
            theirs = [one for one in self.told if one.kept is kept]
            if theirs:
                found += self._of(kept, theirs, units, failing)
        return found

    def _of(
        self, kept: KeptReservation, theirs: list[Intruder], units: Units, failing: Counter[OwnerOfPods]
    ) -> Iterator[Eviction]:
        evictable, bound = self.promises.evictable, self.snapshot.bound
        unit_of = dict(zip(units.pods.tolist(), units.unit.tolist(), strict=True))
        chosen = units.chosen({unit_of[pod] for one in theirs for pod in one.pods.tolist()})
        departures, toll = Departures(units, chosen, failing), units.toll(chosen)
        broken = units.broken_budgets(chosen)
        for one in theirs:
            rule = (
                f"its nodes are reserved for others from {_said(kept.span[0])}; it started after that was "
                f"made, and was warned at {_said(one.warned)}"
            )
            priority = max(int(evictable.priority[one.pods].max()), NOT_KNOWN + 2)
            for pod in one.pods.tolist():
                occupant: Occupant = bound.occupants[pod]
                group, work = evictable.group_of(pod), int(evictable.work[pod])
                receipt = Receipt(
                    unit=one.name,
                    rule=rule,
                    priority=priority,
                    preemptor_priority=priority,
                    work_lost_device_hours=device_hours(work),
                    lost_since=moment(int(evictable.lost_since[pod]) // SECOND) if work else None,
                    budgets=tuple(name for name, speaks in broken.items() if speaks[unit_of[pod]]),
                    departure=departures.of(owner_of(occupant)),
                    toll=toll,
                )
                key = None if group is None else self.snapshot.tree_of(group)
                whom = f"{RESERVATION}/{kept.said.name}"
                yield Eviction(occupant.key, occupant.uid, key, whom, "Reservation", receipt)

    # -- what is remembered and told -------------------------------------------------------------------

    @property
    def memory(self) -> ReservationMemory | None:
        """What is to be remembered from now on; None if that is what was."""
        known = self.snapshot.reservations
        if self.snapshot.unread_reservations:
            return None  # what cannot be read may be of a later version
        left = known.at(at_second(self.now / SECOND))
        found = msgspec.structs.replace(left, standing=self._standing(), warned=self._warnings())
        return None if found == known else found

    def _standing(self) -> tuple[StandingReservation, ...]:
        return tuple(
            StandingReservation(kept.said, at_second(self._since(kept) // SECOND))
            for kept in sorted(self._evicting, key=lambda one: one.said.name)
            if not kept.by
        )

    def _warnings(self) -> tuple[ReservationNotice, ...]:
        return tuple(
            ReservationNotice(
                one.kept.said.name,
                one.name,
                at_second(one.warned // SECOND),
                at_second(one.kept.span[0] // SECOND),
            )
            for one in sorted(self.intruders, key=lambda one: (one.kept.said.name, one.name))
        )

    def reserved(self) -> Iterator[ReservedNodes]:
        """What is kept for each, and whom that concerns."""
        for told in self.reservations.told():
            warned = tuple(
                self._told(one)
                for one in (self.intruders if self._evicting else ())
                if one.kept.said.name == told.name
            )
            yield msgspec.structs.replace(told, warned=warned) if warned else told

    def _told(self, one: Intruder) -> WarnedUnit:
        first: Occupant = min(self.snapshot.bound.occupants[one.pods].tolist(), key=lambda pod: pod.key)
        return WarnedUnit(
            one.name, _said(one.warned), _said(one.due), len(one.pods), first.key, first.uid, one.stays
        )

    @property
    def wake_at(self) -> int | None:
        due = (one.due for one in (self.intruders if self._evicting else ()) if not one.stays)
        return min((at for at in due if at > self.now), default=None)


def _said(at: int) -> str:
    return moment(at // SECOND)
