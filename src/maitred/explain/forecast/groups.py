"""Who wants seats in a future: groups that wait now, and groups that will come."""

from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count

import numpy as np

from maitred.cluster.account import NO_ACCOUNT
from maitred.cluster.snapshot import MemberOrder
from maitred.decide.agenda import Turn, first_turn
from maitred.decide.ask import Ask, Assignment
from maitred.decide.deadlines import NOT_DUE
from maitred.explain.forecast.runs import DRAWS, NEVER, Floats, Runs
from maitred.explain.forecast.shapes import KnownShapes
from maitred.model.group import TopologyRequest
from maitred.model.history import History, PastGroup
from maitred.model.policy import AnyOrder
from maitred.model.queues import Payer
from maitred.model.runtime import RunTerms, Runtime, enforced_limit_of, limit_of

DAY = 86_400.0
LATELY = 2 * DAY
"""How far back others are looked at to see how they come."""
SHORTEST_MEMORY = 600.0
NOBODY: MemberOrder = (0, 0.0, "")
NOBODY_PAYS = Payer("")


@dataclass(frozen=True, slots=True)
class ForecastGroup:
    key: str
    turn: Turn
    ask: Ask
    kin: Hashable
    """On the same room, the same becomes of all of a kin, where nothing is kept for others."""
    runs: Floats
    """How long it may run, in seconds: DRAWS values, each as likely as the next; NEVER if nobody knows."""
    displaces: bool = True
    """Whether others may have to leave for it,"""
    displaceable: bool = True
    """and it for others."""
    schedulers: tuple[str, ...] = ()
    """Those that its waiting members name."""
    came: bool = False
    """Whether it is one of those who are yet to come."""
    latest_start: float = NEVER
    """Until when its deadline puts it before others, where the order goes by deadlines."""
    lifted_until: float = NEVER
    """When the override ends that lifts it past the turn and the limits of its queue, if one does."""
    most: float = NEVER
    """In how many seconds from its start it has ended for certain,"""
    ends_by: float = NEVER
    """and when, whenever it starts."""
    payer: Payer = NOBODY_PAYS

    @property
    def strength(self) -> tuple[bool, int]:
        """The least goes first: it may delay what others have planned."""
        return self.turn.scavenges, self.turn.rank

    @property
    def priority(self) -> int:
        return self.turn.priority

    @property
    def changes_at(self) -> float:
        """Until when it has the turn that it has."""
        return min(self.latest_start, self.lifted_until)

    def at(self, now: float) -> "ForecastGroup":
        """A deadline that it cannot keep puts it before nobody, nor does an override that has ended."""
        found = self
        if now > self.latest_start:
            found = replace(found, turn=found.turn._replace(deadline=NOT_DUE), latest_start=NEVER)
        if now > self.lifted_until:
            turn, ask = found.turn._replace(in_line=True), replace(found.ask, lifted=False)
            found = replace(found, turn=turn, ask=ask, lifted_until=NEVER)
        return found

    def again(self, now: float) -> "ForecastGroup":
        """It has lost its seats, and is created anew."""
        return replace(self, turn=self.turn.anew(now))

    def rest(self, seats: Assignment) -> "ForecastGroup":
        """Those of it who have no seats yet."""
        return replace(self, ask=self.ask.without(seats), kin=rest_of(self.key))


def rest_of(key: str) -> Hashable:
    """The kin of those who come late to a group."""
    return "rest", key


UNKNOWN_RUN: Floats = np.full(DRAWS, NEVER)


def run_times(runtime: Runtime, terms: RunTerms, earlier: Callable[[], Floats | None]) -> Floats:
    """What it says itself, or else what others like it did, and not beyond a limit that somebody enforces.
    Where nothing else is known, as long as it may."""
    enforced, limit = enforced_limit_of(runtime, terms), limit_of(runtime, terms)
    most = NEVER if enforced is None else enforced.span / 1000
    if runtime.expected is not None:
        return np.full(DRAWS, min(runtime.expected / 1000, most))
    found = earlier()
    if found is None:
        return UNKNOWN_RUN if limit is None else np.full(DRAWS, limit.span / 1000)
    return np.minimum(found, most)


class FutureArrivals:
    """Others who keep coming as they came lately."""

    def __init__(
        self,
        history: History,
        now: float,
        shapes: KnownShapes,
        runs: Runs,
        order: AnyOrder,
    ) -> None:
        """Where there are queues, they are in that which their namespace names: that of their pods is not
        remembered."""
        since = now if history.since is None else max(history.since, now - LATELY)
        self.now, self.memory = now, now - since
        past = [group for group in history.groups if since <= group.arrived < now]
        self.past: Sequence[PastGroup] = past if self.memory >= SHORTEST_MEMORY else ()
        self._shapes, self._runs, self._order = shapes, runs, order
        self._known: dict[int, ForecastGroup] = {}

    def __len__(self) -> int:
        return len(self.past)

    @cached_property
    def _usual(self) -> float:
        """How long groups run, in the middle."""
        ran = [group.ended - group.started for group in self.past if group.started and group.ended]
        return float(np.median(ran)) if ran else NEVER

    def _like(self, place: int) -> ForecastGroup:
        """One of those who came, to come again."""
        if place not in self._known:
            group = self.past[place]
            shape = self._shapes.by_requests[group.requests]
            orders, topology = (NOBODY,) * group.members, TopologyRequest(required=group.required)
            payer = Payer(group.group.partition("/")[0])
            account = self._account_of(payer)
            quorum = min(group.quorum, group.members)
            ask = Ask((shape,) * group.members, orders, quorum, topology, account=account)
            kin = ("arrival", group.priority, shape, group.members, group.quorum, group.required, account)
            turn = first_turn(self._order, group.priority, 0.0, "")
            self._known[place] = ForecastGroup(
                group.group,
                turn,
                ask,
                kin,
                self._run_times(group),
                came=True,
                payer=payer,
            )
        return self._known[place]

    def _account_of(self, payer: Payer) -> int:
        book = self._shapes.snapshot.book
        return NO_ACCOUNT if book is None else book.account(payer)

    def _run_times(self, group: PastGroup) -> Floats:
        """The same again; who has not ended yet runs as long as others like it, or as is usual."""
        if group.finished and group.started is not None and group.ended is not None:
            return np.full(DRAWS, group.ended - group.started)
        ran = 0.0 if group.started is None else (group.ended or self.now) - group.started
        like = self._runs.like(group.group, (group.quorum, group.requests), ran)
        return like if like is not None else np.full(DRAWS, max(self._usual, ran))

    def stream(self, part: float) -> Iterator[tuple[float, ForecastGroup]]:
        """As they came, from some part of the time that is remembered on, over and over."""
        if not self.past:
            return
        begin = self.now - self.memory * (1 - part)
        first = bisect_left(self.past, begin, key=lambda group: group.arrived)
        for number in count(first):
            times, place = divmod(number, len(self.past))
            at = self.past[place].arrived + self.now - begin + times * self.memory
            group, key = self._like(place), f"+{number}"
            yield at, replace(group, key=key, turn=group.turn.anew(at)._replace(key=key))
