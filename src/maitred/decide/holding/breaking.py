"""Why a promise could not be kept, and by whom: found when its places will not do any more."""

import hashlib

import msgspec
import numpy as np

from maitred.cluster.ends import ends_as_said
from maitred.cluster.nodes import Mask
from maitred.cluster.snapshot import NO_GROUP, GroupView, Snapshot
from maitred.decide.ask import Ask
from maitred.decide.blockers import names_shown
from maitred.decide.compile import acceptable
from maitred.decide.context import Context
from maitred.decide.holding.calendar import Calendar
from maitred.decide.holding.foreign import foreign_pods
from maitred.decide.queues.admission import is_refused
from maitred.model.booking import LONGEST_WORDS, Booking, BreakCause
from maitred.model.policy import Policy

Broken = tuple[BreakCause, str]
"""The cause, and who or what it was."""


class BreakFinder:
    def __init__(self, snapshot: Snapshot, context: Context, calendar: Calendar) -> None:
        self.snapshot, self.context, self.calendar = snapshot, context, calendar

    def why(self, booking: Booking, view: GroupView, ask: Ask, closed: frozenset[int]) -> Broken:
        """Neither its nodes nor others will do at its time. `closed`: what is reserved for others then."""
        rows = self.snapshot.nodes.rows
        reserved = [node for node, _ in booking.nodes if rows.get(node) in closed]
        if reserved:
            words = f"{names_shown(reserved)} {_are(reserved)} reserved for others by now"
            return "policy", words[:LONGEST_WORDS]
        cause, words = self._why(booking, view, ask)
        return cause, words[:LONGEST_WORDS]

    def late(self) -> Broken:
        """There were places, and it did not get them in time."""
        healed = sorted(one.group for one in self.snapshot.memory.incidents if one.is_open)
        if healed:
            return "healing", f"hardware failed under {names_shown(healed)}"[:LONGEST_WORDS]
        return "late", "no decision came in time"

    def _why(self, booking: Booking, view: GroupView, ask: Ask) -> Broken:
        nodes, names = self.snapshot.nodes, [node for node, _ in booking.nodes]
        gone = [node for node in names if node not in nodes.rows]
        if gone:
            return "capacity", f"{names_shown(gone)} {_are(gone)} gone"
        if self.snapshot.bookings.policy != digest_of(self.context.policy):
            return "policy", "the policy was changed"
        shut = [node for node in names if not self._takes(nodes.rows[node], ask)]
        if shut:
            return "capacity", f"{names_shown(shut)} {_are(shut)} closed, or not well"
        rows = np.array([nodes.rows[node] for node in names], dtype=np.intp)
        if is_refused(self.calendar.at(round(booking.at.timestamp() * 1000)), ask, self.context.policy):
            return "queue", "the limits of its queue do not allow it any more"
        return self._who_is_there(booking, view, np.isin(self.snapshot.bound.node, rows))

    def _takes(self, row: int, ask: Ask) -> bool:
        trial = self.calendar.at(self.calendar.now)
        return all(bool(acceptable(trial, shape, self.context.policy)[row]) for shape in ask.distinct)

    def _who_is_there(self, booking: Booking, view: GroupView, there: Mask) -> Broken:
        bound, now, at = self.snapshot.bound, self.calendar.now, round(booking.at.timestamp() * 1000)
        stays = there & ~bound.fixed & (self.calendar.ends > at)
        came = stays & ((bound.started < 0) | (bound.started >= round(booking.made.timestamp() * 1000)))
        foreign = came & foreign_pods(self.snapshot, view.pending_schedulers)
        if foreign.any():
            return "foreign", f"another scheduler has put {self._named(foreign)} there"
        late = there & ~bound.fixed & (ends_as_said(self.snapshot, now) <= now)
        if late.any():
            return "unkept", f"the end of {self._named(late)} has passed, and it is still there"
        groups = self._groups(came)
        healed = sorted(groups & {one.group for one in self.snapshot.memory.incidents})
        if healed:
            return "healing", f"{names_shown(healed)} went there, because hardware failed under it"
        for override in self.snapshot.overrides.overrides:
            if override.group in groups:
                return "override", f"{override.by} lifted {override.group}: {override.reason}"
        return "others", f"{self._named(stays)} will be there" if stays.any() else "nothing that is known"

    def _named(self, pods: Mask) -> str:
        return names_shown(sorted(one.key for one in self.snapshot.bound.occupants[pods].tolist()))

    def _groups(self, pods: Mask) -> set[str]:
        numbers = np.unique(self.snapshot.bound.group[pods]).tolist()
        known = (self.snapshot.seated[number] for number in numbers if number != NO_GROUP)
        return {group.group.key for group in known if group is not None}


def _are(names: list[str]) -> str:
    return "is" if len(names) == 1 else "are"


def digest_of(policy: Policy) -> str:
    """Where a policy says something else, that may break promises."""
    return hashlib.sha256(msgspec.json.encode(policy)).hexdigest()
