"""Whether a reservation fits beside the others, at each of its times within the horizon; and if it does not,
when it would.

Each time is decided as the cycle will decide it then, on the nodes that there are now: so what is found to
fit is kept, as long as no node is lost. Who runs on the nodes is not looked at: a reservation waits for
them.
"""

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import combinations
from zoneinfo import ZoneInfo

import msgspec

from maitred.cluster.ends import enforced_ends
from maitred.cluster.selection import selected
from maitred.cluster.snapshot import Snapshot
from maitred.decide.context import Context
from maitred.decide.holding.reserved import KeptReservation, Reservations
from maitred.decide.levels import known_levels
from maitred.explain.situation import Situation
from maitred.model.policy import Policy
from maitred.model.reservations import Reservation, Span, clock_time, spans_of
from maitred.model.reserving import MadeReservation, ReservationMemory
from maitred.model.selector import selector_of
from maitred.model.times import at_second

MOST_LOOKS = 300
"""At so many moments it is looked what is there, for one reservation."""
MOST_STARTS = 100
"""So many later times are tried."""
STANDING = "the policy"
CLOCK = "%Y-%m-%dT%H:%M:%S"


class TooManyLooksError(Exception):
    """The reservation meets others at too many times, each in its own way."""


@dataclass(frozen=True)
class Misfit:
    """Why it does not fit: at which of its times, and how much is there, or whose it would take."""

    span: Span
    have: int
    robbed: str = ""
    """Another reservation, which would have less than it asks for."""
    beside: tuple[str, ...] = ()
    """Those that are at the same time."""


def kept_now(situation: Situation, memory: ReservationMemory) -> Reservations:
    """What is kept if these have been made."""
    snapshot = replace(situation.snapshot, reservations=memory)
    return _kept_at(snapshot, situation.policy, round(situation.now.timestamp() * 1000))


def _kept_at(snapshot: Snapshot, policy: Policy, now: int) -> Reservations:
    context = Context(policy, known_levels(policy, snapshot))
    return Reservations(snapshot, context, now, lambda: enforced_ends(snapshot, now))


class Fitting:
    def __init__(self, situation: Situation, memory: ReservationMemory) -> None:
        """`memory`: those that have been made already."""
        self.situation = situation
        self.now = round(situation.now.timestamp() * 1000)
        self._policy = msgspec.structs.replace(situation.policy, reservations=())
        self._places = {one.name: place for place, one in enumerate(situation.policy.reservations)}
        standing = (MadeReservation(one, STANDING, situation.now) for one in situation.policy.reservations)
        known = (*standing, *(one for one in memory.reservations if one.said.name not in self._places))
        spans = ((one, spans_of(one.said, self.now)) for one in known)
        self._others = tuple((one, found) for one, found in spans if found)
        """In the order in which ties are decided, with their times."""
        self._known: dict[Hashable, tuple[int, str]] = {}

    def alone(self, made: MadeReservation) -> int:
        """How much of what it asks for is there, if there were no others."""
        [kept] = self._kept((made,), self.now)
        return have(kept)

    def misfit(self, made: MadeReservation) -> Misfit | None:
        """At the first of its times at which it does not fit; None if it fits at all."""
        for span in spans_of(made.said, self.now):
            there = self._around(made, span)
            if len(there) == 1:
                continue
            pairs = combinations(enumerate(there), 2)
            meet = frozenset((i, k) for (i, (_, one)), (k, (_, other)) in pairs if _meet(one, other))
            key = (made.said.every, tuple(one.said.name for one, _ in there), meet)
            known = self._known.get(key)
            if known is None:
                once = [_once(one, when) for one, when in there]
                known = self._known[key] = self._at(made, once, max(span[0], self.now))
            mine, robbed = known
            if robbed or mine < asked(made.said):
                beside = sorted(one.said.name for one, when in there if one is not made and _meet(when, span))
                return Misfit(span, mine, robbed, tuple(beside))
        return None

    def _around(self, made: MadeReservation, span: Span) -> list[tuple[MadeReservation, Span]]:
        """It, and those that matter to where it is: that are at the same time, now or the next time, or at
        the same time as one of these. In the order in which they choose their nodes."""
        moment, name = max(span[0], self.now), made.said.name
        first = (
            (one, spans[bisect_right(spans, moment, key=lambda span: span[1])])
            for one, spans in self._others
            if one.said.name != name and spans[-1][1] > moment
        )
        left, found, new = list(first), [(made, span)], [span]
        while new:
            near = [pair for pair in left if any(_meet(pair[1], one) for one in new)]
            left = [pair for pair in left if not any(pair is one for one in near)]
            found, new = [*found, *near], [when for _, when in near]
        return sorted(found, key=self._place)

    def _place(self, pair: tuple[MadeReservation, Span]) -> tuple[bool, Span, int, str]:
        """What names its nodes comes first, and what begins first; then those of the policy, in its order."""
        said, when = pair[0].said, pair[1]
        return said.devices is not None, when, self._places.get(said.name, len(self._places)), said.name

    def _at(self, made: MadeReservation, there: list[MadeReservation], moment: int) -> tuple[int, str]:
        """What it has then, and from whom it takes; it asks for nodes that others have."""
        if len(self._known) >= MOST_LOOKS:
            raise TooManyLooksError
        beside = {one.said.name: one for one in self._kept(there, moment)}
        mine, robbed = have(beside.pop(made.said.name)), ""
        short = [name for name, one in beside.items() if have(one) < asked(one.said)]
        if short:
            others = [one for one in there if one.said.name != made.said.name]
            had = {one.said.name: have(one) for one in self._kept(others, moment)}
            robbed = next((name for name in sorted(short) if have(beside[name]) < had[name]), "")
        wanted = made.said.nodes
        if wanted is not None:
            nodes = selected(self.situation.snapshot.nodes, selector_of(wanted) or ())
            mine = 0 if mine < int(nodes.sum()) else mine
        return mine, robbed

    def _kept(self, known: Sequence[MadeReservation], moment: int) -> tuple[KeptReservation, ...]:
        snapshot = replace(self.situation.snapshot, reservations=ReservationMemory(tuple(known)))
        return _kept_at(snapshot, self._policy, moment).kept

    def first(self, made: MadeReservation) -> int | None:
        """When it would fit if it began later and were the same else. None if none of the times that were
        tried would do."""
        starts = sorted({end for _, spans in self._others for _, end in spans if end > self.now})
        begin = spans_of(made.said, self.now)[0][0]
        for start in [one for one in starts if one > begin][:MOST_STARTS]:
            later = msgspec.structs.replace(made, said=shifted(made.said, start))
            spans = spans_of(later.said, self.now)
            try:
                if spans and self.misfit(later) is None:
                    return spans[0][0]
            except TooManyLooksError:
                return None
        return None


def _once(made: MadeReservation, span: Span) -> MadeReservation:
    """Of its times only this one."""
    begin, until = (at_second(at // 1000).strftime(CLOCK) for at in span)
    once = msgspec.structs.replace(made.said, begin=begin, until=until, every="", time_zone="UTC")
    return msgspec.structs.replace(made, said=once)


def _meet(one: Span, other: Span) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def have(kept: KeptReservation) -> int:
    return kept.have if kept.said.devices is not None else len(kept.rows)


def asked(said: Reservation) -> int:
    return 1 if said.devices is None else said.devices.count


def shifted(said: Reservation, start: int) -> Reservation:
    """As long, and begun at the first full second from then on."""
    length = clock_time("until", said.until) - clock_time("from", said.begin)
    begin = on_clocks(at_second(-(-start // 1000)), said.time_zone)
    until = (begin + length).strftime(CLOCK)
    return msgspec.structs.replace(said, begin=begin.strftime(CLOCK), until=until)


def on_clocks(moment: datetime, time_zone: str) -> datetime:
    return moment.astimezone(UTC).astimezone(ZoneInfo(time_zone)).replace(tzinfo=None)
