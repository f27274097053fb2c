"""Whether a reservation fits beside the others, at each of its times within the horizon; and if it does not,
when it would.

Each time is decided as the cycle will decide it then, on the nodes that there are now: so what is found to
fit is kept, as long as no node is lost. Who runs on the nodes is not looked at: a reservation waits for
them.
"""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
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
        self.situation, self.memory = situation, memory
        self.now = round(situation.now.timestamp() * 1000)
        self._known: dict[Hashable, tuple[int, str]] = {}
        self._others = tuple(
            (one.said, spans_of(one.said, self.now)) for one in kept_now(situation, memory).kept
        )

    def alone(self, made: MadeReservation) -> int:
        """How much of what it asks for is there, if there were no others."""
        policy = msgspec.structs.replace(self.situation.policy, reservations=())
        snapshot = replace(self.situation.snapshot, reservations=ReservationMemory((made,)))
        [kept] = _kept_at(snapshot, policy, self.now).kept
        return have(kept)

    def misfit(self, made: MadeReservation) -> Misfit | None:
        """At the first of its times at which it does not fit; None if it fits at all."""
        for span in spans_of(made.said, self.now):
            beside = list(self._beside(made.said, span))
            if not beside:
                continue
            key = tuple((said.name, begin - span[0], end - span[0]) for said, (begin, end) in beside)
            known = self._known.get((key, made.said.every))
            if known is None:
                known = self._known[key, made.said.every] = self._at(made, max(span[0], self.now))
            there, robbed = known
            if robbed or there < asked(made.said):
                return Misfit(span, there, robbed, tuple(sorted({said.name for said, _ in beside})))
        return None

    def _beside(self, said: Reservation, span: Span) -> Iterator[tuple[Reservation, Span]]:
        for other, spans in self._others:
            if other.name != said.name:
                yield from ((other, one) for one in spans if one[0] < span[1] and one[1] > span[0])

    def _at(self, made: MadeReservation, moment: int) -> tuple[int, str]:
        """What it has then, and from whom it takes; it asks for nodes that others have."""
        if len(self._known) >= MOST_LOOKS:
            raise TooManyLooksError
        snapshot, policy = self.situation.snapshot, self.situation.policy
        others = self.memory.without(made.said.name)
        without = _kept_at(replace(snapshot, reservations=others), policy, moment)
        beside = _kept_at(replace(snapshot, reservations=others.with_more(made)), policy, moment)
        had = {one.said.name: have(one) for one in without.kept}
        mine, robbed = 0, ""
        for one in beside.kept:
            if one.said.name == made.said.name:
                mine = have(one)
            elif have(one) < min(had[one.said.name], asked(one.said)) and not robbed:
                robbed = one.said.name
        wanted = made.said.nodes
        if wanted is not None and mine < int(selected(snapshot.nodes, selector_of(wanted) or ()).sum()):
            mine = 0
        return mine, robbed

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
